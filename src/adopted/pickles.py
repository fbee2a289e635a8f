"""What a pickle of PyTorch describes: values, names and tensors, but no live objects."""

from __future__ import annotations

import abc
import io
import math
import pickletools
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from gardenpath.errors import InputError


class RefusedPickleError(Exception):
    """A pickle has content that no model of the known kinds has; the message says what."""


class GlobalName(NamedTuple):
    """The name of a class or function; nothing is imported."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"[:100]


@dataclass(eq=False, slots=True)
class PickledDict:
    """A dictionary as its entries; keys need not be hashable and may repeat."""

    pairs: list[tuple[Any, Any]] = field(default_factory=list)

    def named(self) -> dict[str, Any]:
        """Return the entries whose keys are strings; of equal keys, the last counts."""
        return {key: value for key, value in self.pairs if type(key) is str}


@dataclass(eq=False, slots=True)
class PickledObject:
    """An object of a listed class; ``state`` has its attributes."""

    kind: GlobalName
    state: PickledDict = field(default_factory=PickledDict)

    def attribute(self, name: str) -> Any:
        """Return an attribute; None if the object has none of this name."""
        return self.state.named().get(name)


@dataclass(frozen=True, slots=True)
class PickledStorage:
    """Numbers that are stored outside of the pickle; ``dtype`` is their type in PyTorch."""

    key: str
    dtype: str
    count: int


@dataclass(frozen=True, slots=True)
class PickledTensor:
    """A tensor as a view of a storage."""

    storage: PickledStorage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


# Storages that hold the numbers of models, with and without a GPU.
_STORAGES = {
    "FloatStorage": "float32",
    "DoubleStorage": "float64",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "LongStorage": "int64",
    "IntStorage": "int32",
    "ShortStorage": "int16",
    "CharStorage": "int8",
    "ByteStorage": "uint8",
    "BoolStorage": "bool",
}
STORAGES: Mapping[GlobalName, str] = {
    GlobalName(module, name): dtype
    for module in ("torch", "torch.cuda")
    for name, dtype in _STORAGES.items()
}

# Classes of which an object is only its attributes. RNNModel has the module of the script that
# defined it; Corpus and Dictionary are the vocabularies of PyTorch's example.
MODELS_OF_WORDS = frozenset(
    GlobalName(module, "RNNModel")
    for module in ("model", "__main__", "language_models.model", "src.language_models.model")
)
EMBEDDING = GlobalName("torch.nn.modules.sparse", "Embedding")
LSTM = GlobalName("torch.nn.modules.rnn", "LSTM")
LINEAR = GlobalName("torch.nn.modules.linear", "Linear")
DROPOUT = GlobalName("torch.nn.modules.dropout", "Dropout")
CORPUS, DICTIONARY = GlobalName("data", "Corpus"), GlobalName("data", "Dictionary")
# Networks that are recognised in order to name them: their pickles are read, and then refused.
OTHER_NETWORKS = frozenset(GlobalName("torch.nn.modules.rnn", name) for name in ("GRU", "RNN"))
PICKLED_CLASSES = frozenset(
    {*MODELS_OF_WORDS, EMBEDDING, LSTM, LINEAR, DROPOUT, CORPUS, DICTIONARY, *OTHER_NETWORKS}
)


def size_of(value: Any) -> int:
    """Return a size, an offset or a stride; anything else is refused."""
    if type(value) is not int or not 0 <= value < 2**48:
        raise RefusedPickleError("a tensor has an impossible size")
    return value


def sizes_of(value: Any) -> tuple[int, ...]:
    """Return a shape or strides; anything else is refused."""
    if type(value) is not tuple or len(value) > 8:
        raise RefusedPickleError("a tensor has an impossible size")
    return tuple(map(size_of, value))


def storage_of(identifier: Any) -> PickledStorage | GlobalName:
    """Return what a reference to the outside of the pickle stands for.

    It is a storage, or a class together with its source code, which is ignored.
    """
    fields = identifier if type(identifier) is tuple else ()
    if len(fields) == 4 and fields[0] == "module" and type(fields[1]) is GlobalName:
        return fields[1]
    is_storage = len(fields) in (5, 6) and fields[0] == "storage" and fields[5:] in ((), (None,))
    if not is_storage or type(fields[1]) is not GlobalName or type(fields[2]) is not str:
        raise RefusedPickleError("it refers to data that are not those of a tensor")
    if fields[1] not in STORAGES:
        raise RefusedPickleError(f"it has numbers of the type {fields[1]}")
    return PickledStorage(fields[2], STORAGES[fields[1]], size_of(fields[4]))


# ----------------------------------------------------------------------------
# What the functions that pickles of models call return; the functions themselves never run.


def _rebuild_tensor(storage: Any, offset: Any, shape: Any, strides: Any) -> PickledTensor:
    if type(storage) is not PickledStorage:
        raise RefusedPickleError("a tensor has no storage")
    tensor = PickledTensor(storage, size_of(offset), sizes_of(shape), sizes_of(strides))
    if len(tensor.shape) != len(tensor.strides):
        raise RefusedPickleError("a tensor has an impossible size")
    return tensor


def _rebuild_tensor_v2(
    storage: Any, offset: Any, shape: Any, strides: Any, _: Any, __: Any, metadata: Any = None
) -> PickledTensor:
    if metadata is not None and not (type(metadata) is PickledDict and not metadata.pairs):
        raise RefusedPickleError("a tensor is a negated or conjugated view")
    return _rebuild_tensor(storage, offset, shape, strides)


def _rebuild_parameter(data: Any, *_: Any) -> PickledTensor:
    if type(data) is not PickledTensor:
        raise RefusedPickleError("a parameter is not a tensor")
    return data


def _ordered_dict(entries: Any = ()) -> PickledDict:
    """Return a dictionary; Python 2 gives its entries as a list of lists."""
    if type(entries) not in (list, tuple):
        raise RefusedPickleError("a dictionary is made of something else than a list")
    if not all(type(entry) in (list, tuple) and len(entry) == 2 for entry in entries):
        raise RefusedPickleError("a dictionary has entries that are not pairs")
    return PickledDict([(key, value) for key, value in entries])


def _collection(*_: Any) -> PickledDict:
    """Return an empty collection; sets, counters and tuples of sizes of a model are not needed."""
    return PickledDict()


def _size(sizes: Any) -> tuple[int, ...]:
    return sizes_of(sizes)


# Names that are only values: what a dictionary of counts begins with.
DATA = frozenset({GlobalName("__builtin__", "int"), GlobalName("builtins", "int")})

CALLS: Mapping[GlobalName, Callable[..., Any]] = {
    GlobalName("torch._utils", "_rebuild_tensor"): _rebuild_tensor,
    GlobalName("torch._utils", "_rebuild_tensor_v2"): _rebuild_tensor_v2,
    GlobalName("torch._utils", "_rebuild_parameter"): _rebuild_parameter,
    GlobalName("torch.nn.parameter", "Parameter"): _rebuild_parameter,
    GlobalName("torch", "Size"): _size,
    # Modules of PyTorch before 1.2 have this attribute.
    GlobalName("torch.nn.backends.thnn", "_get_thnn_function_backend"): _collection,
    GlobalName("collections", "OrderedDict"): _ordered_dict,
    GlobalName("collections", "defaultdict"): _collection,
    GlobalName("collections", "Counter"): _collection,
    GlobalName("__builtin__", "set"): _collection,
    GlobalName("builtins", "set"): _collection,
}


# ----------------------------------------------------------------------------
# Read pickles without running anything that they name.
#
# A pickle is a program for a machine with a stack. Python's own machine imports and calls whatever
# a pickle names; restricting the names is not enough, because attributes of what is allowed lead
# elsewhere. This machine has no objects of Python to call: classes and functions are names
# (:class:`GlobalName`) from exact lists, and of a call only its result is made;
# everything else is refused.


# Pickles of models with vocabularies of millions of words have fewer operations.
MOST_OPERATIONS = 5_000_000
# Numbers of memorised values that are larger than any pickle are not such numbers.
_LARGEST_NUMBER = 2**32


def read_pickle(stream: io.BytesIO, storages: dict[str, PickledStorage] | None = None) -> Any:
    """Return what a pickle describes; the stream is then behind it.

    Values of Python are themselves, dictionaries are :class:`PickledDict`, tensors and objects of
    listed classes are :class:`PickledTensor` and :class:`PickledObject`. The data to which a pickle
    refers are added to ``storages``.
    """
    machine = _Machine({} if storages is None else storages)
    try:
        for count, (operation, argument, _) in enumerate(pickletools.genops(stream)):
            if count >= MOST_OPERATIONS:
                raise RefusedPickleError("it is too long")
            machine.run(operation.name, argument)
        return machine.pop()
    except (ValueError, IndexError, KeyError, OverflowError) as error:
        raise RefusedPickleError(f"it is damaged ({type(error).__name__})") from error


class _Mark:
    """The beginning of several items on the stack."""


class _Machine:
    """The stack and the memory of one pickle."""

    def __init__(self, storages: dict[str, PickledStorage]) -> None:
        self._storages = storages
        self._stack: list[Any] = []
        self._memory: dict[int, Any] = {}

    def run(self, name: str, argument: Any) -> None:
        """Carry out one operation."""
        if name in _IGNORED:
            return
        if name in _CONSTANTS:
            self._stack.append(_CONSTANTS[name])
        elif name in _TEXTS:
            self._stack.append(_TEXTS[name](argument))
        elif (operation := _OPERATIONS.get(name)) is not None:
            operation(self, argument)
        else:
            raise RefusedPickleError(f"it contains the operation {name}")

    def pop(self) -> Any:
        """Remove and return the topmost value."""
        value = self._stack.pop()
        if type(value) is _Mark:
            raise ValueError("a mark is not a value")
        return value

    def _top(self, kind: type) -> Any:
        value = self._stack[-1]
        if type(value) is not kind:
            raise RefusedPickleError(f"it changes something that is not a {_NAMES[kind]}")
        return value

    def _to_mark(self) -> list[Any]:
        """Remove and return all values above the last mark."""
        place = len(self._stack) - 1
        while type(self._stack[place]) is not _Mark:
            place -= 1
            if place < 0:
                raise ValueError("no mark")
        values = self._stack[place + 1 :]
        del self._stack[place:]
        return values

    # ---- Operations, in the order of the table below.

    def mark(self, _: Any) -> None:
        self._stack.append(_Mark())

    def drop(self, _: Any) -> None:
        del self._stack[-1]

    def drop_to_mark(self, _: Any) -> None:
        self._to_mark()

    def duplicate(self, _: Any) -> None:
        self._stack.append(self._stack[-1])

    def new_list(self, _: Any) -> None:
        self._stack.append([])

    def new_dict(self, _: Any) -> None:
        self._stack.append(PickledDict())

    def list_of(self, _: Any) -> None:
        self._stack.append(self._to_mark())

    def dict_of(self, _: Any) -> None:
        self._stack.append(PickledDict(_pairs(self._to_mark())))

    def tuple_of(self, _: Any) -> None:
        self._stack.append(tuple(self._to_mark()))

    def append(self, _: Any) -> None:
        value = self.pop()
        self._top(list).append(value)

    def appends(self, _: Any) -> None:
        values = self._to_mark()
        self._top(list).extend(values)

    def set_item(self, _: Any) -> None:
        value, key = self.pop(), self.pop()
        self._top(PickledDict).pairs.append((key, value))

    def set_items(self, _: Any) -> None:
        values = self._to_mark()
        self._top(PickledDict).pairs.extend(_pairs(values))

    def last(self, count: int) -> None:
        values = [self.pop() for _ in range(count)]
        self._stack.append(tuple(reversed(values)))

    def put(self, number: int) -> None:
        if type(self._stack[-1]) is _Mark or number > _LARGEST_NUMBER:
            raise ValueError("not a value")
        self._memory[number] = self._stack[-1]

    def memoise(self, _: Any) -> None:
        self.put(len(self._memory))

    def get(self, number: int) -> None:
        self._stack.append(self._memory[number])

    def name(self, argument: str) -> None:
        module, _, name = argument.partition(" ")
        self._push_name(GlobalName(module, name))

    def name_on_stack(self, _: Any) -> None:
        name, module = self.pop(), self.pop()
        if type(name) is not str or type(module) is not str:
            raise ValueError("a name is a text")
        self._push_name(GlobalName(module, name))

    def _push_name(self, name: GlobalName) -> None:
        if (
            name not in PICKLED_CLASSES
            and name not in STORAGES
            and name not in CALLS
            and name not in DATA
        ):
            raise RefusedPickleError(f"it names {name}")
        self._stack.append(name)

    def reference(self, _: Any) -> None:
        found = storage_of(self.pop())
        if type(found) is PickledStorage and self._storages.setdefault(found.key, found) != found:
            raise RefusedPickleError("a tensor has two types of numbers")
        self._stack.append(found)

    def call(self, _: Any) -> None:
        arguments, function = self.pop(), self.pop()
        if type(function) is not GlobalName or type(arguments) is not tuple:
            raise RefusedPickleError("it calls something that is not a function")
        if function not in CALLS:
            raise RefusedPickleError(f"it calls {function}, which is not a function")
        try:
            self._stack.append(CALLS[function](*arguments))
        except TypeError as error:  # a wrong number of arguments
            raise RefusedPickleError(f"it calls {function} with wrong arguments") from error

    def new_object(self, _: Any) -> None:
        arguments, kind = self.pop(), self.pop()
        if type(kind) is not GlobalName or kind not in PICKLED_CLASSES:
            named = str(kind) if type(kind) is GlobalName else "something that is not a class"
            raise RefusedPickleError(f"it contains an object of {named}")
        if arguments != ():
            raise RefusedPickleError(f"it makes an object of {kind} with arguments")
        self._stack.append(PickledObject(kind))

    def build(self, _: Any) -> None:
        state, target = self.pop(), self._stack[-1]
        if type(target) is PickledObject and type(state) is PickledDict:
            target.state = state
        # Attributes of a dictionary of weights (_metadata) and of old tensors are not needed.
        elif type(target) not in (PickledDict, PickledTensor):
            raise RefusedPickleError("it sets attributes of something that is not an object")


_NAMES = {list: "list", PickledDict: "dictionary"}


def _pairs(values: list[Any]) -> list[tuple[Any, Any]]:
    return list(zip(values[::2], values[1::2], strict=True))


def _old_text(text: str) -> str:
    """Return a text of Python 2, whose bytes were taken for Latin-1."""
    try:
        return text.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return text


_IGNORED = frozenset({"PROTO", "FRAME", "STOP"})
_CONSTANTS: Mapping[str, Any] = {
    "NONE": None,
    "NEWTRUE": True,
    "NEWFALSE": False,
    "EMPTY_TUPLE": (),
}


def _same(value: Any) -> Any:
    return value


_TEXTS: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4"), _same),
    **dict.fromkeys(("FLOAT", "BINFLOAT", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8"), _same),
    **dict.fromkeys(("UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"), _same),
    **dict.fromkeys(("STRING", "BINSTRING", "SHORT_BINSTRING"), _old_text),
}

_OPERATIONS: Mapping[str, Callable[[_Machine, Any], None]] = {
    "MARK": _Machine.mark,
    "POP": _Machine.drop,
    "POP_MARK": _Machine.drop_to_mark,
    "DUP": _Machine.duplicate,
    "EMPTY_LIST": _Machine.new_list,
    "EMPTY_DICT": _Machine.new_dict,
    # The elements of sets are not needed.
    "EMPTY_SET": _Machine.new_dict,
    "ADDITEMS": _Machine.drop_to_mark,
    "LIST": _Machine.list_of,
    "DICT": _Machine.dict_of,
    "TUPLE": _Machine.tuple_of,
    "TUPLE1": lambda machine, _: machine.last(1),
    "TUPLE2": lambda machine, _: machine.last(2),
    "TUPLE3": lambda machine, _: machine.last(3),
    "APPEND": _Machine.append,
    "APPENDS": _Machine.appends,
    "SETITEM": _Machine.set_item,
    "SETITEMS": _Machine.set_items,
    **dict.fromkeys(("PUT", "BINPUT", "LONG_BINPUT"), _Machine.put),
    "MEMOIZE": _Machine.memoise,
    **dict.fromkeys(("GET", "BINGET", "LONG_BINGET"), _Machine.get),
    "GLOBAL": _Machine.name,
    "STACK_GLOBAL": _Machine.name_on_stack,
    "BINPERSID": _Machine.reference,
    "REDUCE": _Machine.call,
    "NEWOBJ": _Machine.new_object,
    "BUILD": _Machine.build,
}


# ----------------------------------------------------------------------------
# Files of ``torch.save``: a pickle and the numbers of its tensors, in the old form or as a zip.
#
# Both are read here without PyTorch, which would run code that a pickled module names.


Array = np.ndarray[tuple[int, ...], np.dtype[np.generic]]

# Pickles of models are small, because the numbers are outside of them.
_LONGEST_PICKLE = 1 << 26
# The first value of a file in the old form, and its version.
_MAGIC, _VERSION = 0x1950A86A20F9469CFC6C, 1001
_COUNT = np.dtype("<i8")
_ZIP = b"PK\x03\x04"
_REMEDY = (
    "save the weights alone, with torch.save(model.state_dict(), FILE) in the environment in which "
    "the model was trained, and adopt that file"
)


class TorchFile(abc.ABC):
    """An open file of ``torch.save``; ``content`` is what its pickle describes."""

    content: Any

    def array(self, tensor: PickledTensor) -> Array:
        """Return the numbers of a tensor in an array of its own."""
        storage = tensor.storage
        count = math.prod(tensor.shape)
        pairs = zip(tensor.shape, tensor.strides, strict=True)
        last = tensor.offset + sum((size - 1) * stride for size, stride in pairs)
        # A view may not repeat numbers, so that small files have no huge tensors.
        if count > storage.count or (count and last >= storage.count):
            raise RefusedPickleError("a tensor is larger than its data")
        if not count:
            return np.zeros(tensor.shape, dtype=np.float32)
        values = _values(self._bytes(storage), storage)
        strides = [stride * values.itemsize for stride in tensor.strides]
        view = np.lib.stride_tricks.as_strided(values[tensor.offset :], tensor.shape, strides)
        return view.copy()

    @abc.abstractmethod
    def _bytes(self, storage: PickledStorage) -> bytes:
        """Return the bytes of a storage."""


def _values(content: bytes, storage: PickledStorage) -> Array:
    is_brain = storage.dtype == "bfloat16"
    dtype = np.dtype("uint16" if is_brain else storage.dtype).newbyteorder("<")
    if len(content) != storage.count * dtype.itemsize:
        raise RefusedPickleError("the data of a tensor are cut off")
    values: Array = np.frombuffer(content, dtype=dtype)
    # A bfloat16 number is the first half of a float32 number.
    return (values.astype(np.uint32) << 16).view(np.float32) if is_brain else values


@contextmanager
def open_torch_file(path: Path) -> Iterator[TorchFile]:
    """Open a file; what cannot be read, or is refused, is one error that names it."""
    try:
        with path.open("rb") as file:
            is_zip = file.read(len(_ZIP)) == _ZIP
            file.seek(0)
            yield _ZipFile(file) if is_zip else _OldFile(file)
    except RefusedPickleError as error:
        problem = f"is not a model that can be converted: {error}"
        raise InputError(problem, path=path, remedy=_REMEDY) from error
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", path=path) from error


class _OldFile(TorchFile):
    """Before PyTorch 1.6: pickles, then the numbers of all storages one after the other."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._size = file.seek(0, io.SEEK_END)
        file.seek(0)
        head = io.BytesIO(file.read(_LONGEST_PICKLE))
        magic, version, system = (read_pickle(head) for _ in range(3))
        if type(magic) is not int or magic != _MAGIC or version != _VERSION:
            raise RefusedPickleError("it is not a file of torch.save, or one of before 2017")
        _require_little_endian(system)
        self._storages: dict[str, PickledStorage] = {}
        self.content = read_pickle(head, self._storages)
        keys = read_pickle(head)
        if type(keys) is not list or not all(type(key) is str for key in keys):
            raise RefusedPickleError("it does not list its data")
        self._keys = keys
        self._places: dict[str, tuple[int, int]] | None = None
        self._begin = head.tell()

    def _bytes(self, storage: PickledStorage) -> bytes:
        if self._places is None:
            self._places = self._located()
        place, count = self._places.get(storage.key, (0, -1))
        if count != storage.count:
            raise RefusedPickleError("the data of a tensor are missing or have another size")
        self._file.seek(place)
        return self._file.read(storage.count * _item_size(storage))

    def _located(self) -> dict[str, tuple[int, int]]:
        """Return the position and the number of elements of each storage."""
        sizes = {key: _item_size(storage) for key, storage in self._storages.items()}
        places: dict[str, tuple[int, int]] = {}
        place = self._begin
        for key in self._keys:
            self._file.seek(place)
            count = int.from_bytes(self._file.read(_COUNT.itemsize), "little", signed=True)
            place += _COUNT.itemsize
            if key not in sizes or not 0 <= count * sizes[key] <= self._size - place:
                raise RefusedPickleError("the data of a tensor are cut off")
            places[key] = place, count
            place += count * sizes[key]
        return places


class _ZipFile(TorchFile):
    """Since PyTorch 1.6: a zip file of a pickle and of one file for each storage."""

    def __init__(self, file: BinaryIO) -> None:
        self._size = file.seek(0, io.SEEK_END)
        with _sound_zip():
            self._zip = zipfile.ZipFile(file)
        names = self._zip.namelist()
        found = [name for name in names if name.count("/") == 1 and name.endswith("/data.pkl")]
        if len(found) != 1:
            raise RefusedPickleError("it is a zip file, but not one of torch.save")
        self._folder = found[0].removesuffix("data.pkl")
        if f"{self._folder}constants.pkl" in names:
            raise RefusedPickleError("it is a TorchScript program")
        if f"{self._folder}byteorder" in names and self._member("byteorder", 16) != b"little":
            raise RefusedPickleError("its numbers are big-endian")
        self.content = read_pickle(io.BytesIO(self._member("data.pkl", _LONGEST_PICKLE)))

    def _bytes(self, storage: PickledStorage) -> bytes:
        return self._member(f"data/{storage.key}", self._size)

    def _member(self, name: str, most: int) -> bytes:
        try:
            info = self._zip.getinfo(self._folder + name)
        except KeyError:
            raise RefusedPickleError("the data of a tensor are missing") from None
        # Stored members are not larger than the file: nothing small becomes huge.
        if info.compress_type != zipfile.ZIP_STORED or info.file_size > min(most, self._size):
            raise RefusedPickleError("it is compressed, or too long")
        with _sound_zip():
            return self._zip.read(info)


@contextmanager
def _sound_zip() -> Iterator[None]:
    """Give one name to what the library raises for damaged zip files."""
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, RuntimeError) as error:
        raise RefusedPickleError("it is a damaged zip file") from error
    except (ValueError, OverflowError, UnicodeError) as error:
        raise RefusedPickleError("it is a damaged zip file") from error


def _item_size(storage: PickledStorage) -> int:
    return 2 if storage.dtype == "bfloat16" else np.dtype(storage.dtype).itemsize


def _require_little_endian(system: Any) -> None:
    if type(system) is not PickledDict or system.named().get("little_endian") is not True:
        raise RefusedPickleError("its numbers are big-endian")
