"""Pickles that would run code, or that lie about their tensors, are refused and run nothing."""

from __future__ import annotations

import io
import os
import pickle
import pickletools
import struct
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gardenpath.adopted import pickles as pickle_machine
from gardenpath.adopted import pickles as pickled_calls
from gardenpath.adopted import pickles as torch_files
from gardenpath.adopted.grnn import read_vocabulary_words, read_weights
from gardenpath.adopted.pickles import PICKLED_CLASSES
from gardenpath.errors import InputError
from tests.models.word_lm.word_models import make_model, save

pytestmark = pytest.mark.filterwarnings("ignore:Couldn't retrieve source code")

# Opcodes with which pickles are written here by hand.
PROTO, STOP, MARK = b"\x80\x02", b".", b"("
REDUCE, BUILD, NEWOBJ, NEWOBJ_EX, OBJ = b"R", b"b", b"\x81", b"\x92", b"o"
TUPLE, TUPLE1, TUPLE2, EMPTY_TUPLE, EMPTY_DICT, EMPTY_LIST = (
    b"t",
    b"\x85",
    b"\x86",
    b")",
    b"}",
    b"]",
)
SETITEM, APPEND, BINPERSID, STACK_GLOBAL, NONE = b"s", b"a", b"Q", b"\x93", b"N"


def _global(module: str, name: str) -> bytes:
    return f"c{module}\n{name}\n".encode()


def _text(value: str) -> bytes:
    return b"X" + struct.pack("<I", len(value.encode())) + value.encode()


def _int(value: int) -> bytes:
    return b"L" + str(value).encode() + b"L\n"


def _ints(*values: int) -> bytes:
    return MARK + b"".join(map(_int, values)) + TUPLE


def _storage(count: int, *, kind: str = "FloatStorage", key: str = "0") -> bytes:
    fields = [_text("storage"), _global("torch", kind), _text(key), _text("cpu"), _int(count)]
    return MARK + b"".join(fields) + TUPLE + BINPERSID


def _tensor(
    storage: bytes, offset: int, shape: bytes, strides: bytes, *, function: str = "_rebuild_tensor"
) -> bytes:
    arguments = MARK + storage + _int(offset) + shape + strides + TUPLE
    return _global("torch._utils", function) + arguments + REDUCE


def _zip(program: bytes, **data: bytes) -> bytes:
    """A file of torch.save with this pickle."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("archive/data.pkl", program)
        for key, numbers in data.items():
            archive.writestr(f"archive/data/{key.removeprefix('d')}", numbers)
    return content.getvalue()


def _old(program: bytes) -> bytes:
    """The same in the old form, with one storage of four numbers."""
    system = {"protocol_version": 1001, "little_endian": True, "type_sizes": {}}
    head = [torch_files._MAGIC, 1001, system]
    return b"".join(
        [*(pickle.dumps(one, 2) for one in head), program, pickle.dumps(["0"], 2),
         struct.pack("<q", 4), np.zeros(4, dtype=np.float32).tobytes()]
    )  # fmt: skip


def _refused(content: bytes, folder: Path) -> str:
    path = folder / "hostile.pt"
    path.write_bytes(content)
    messages = set()
    for read in (read_weights, lambda path: read_vocabulary_words(path, 3)):
        with pytest.raises(InputError) as caught:
            read(path)
        assert caught.value.path == str(path)
        messages.add(str(caught.value))
    message = min(messages)
    assert "\n" not in message and len(message) < 500
    return message


class _Calls:
    """Calls a function when it is unpickled."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self._call = function, arguments

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return self._call


@pytest.fixture
def canary(tmp_path: Path) -> Iterator[Path]:
    """A folder that hostile pickles create; none of them does."""
    path = tmp_path / "canary"
    yield path
    assert not path.exists()


def _mkdir(path: Path) -> bytes:
    """The arguments of a call that creates the canary."""
    return _text(str(path)) + TUPLE1


def _programs(path: Path) -> dict[str, bytes]:
    """Programs that create the canary, or that would lead there, by the operations they use."""
    code = f"__import__('os').mkdir({str(path)!r})"
    mkdir = _mkdir(path)
    model = _global("model", "RNNModel")
    loader = _global("torch.serialization", "load")
    return {
        "reduce": _global("os", "mkdir") + mkdir + REDUCE,
        "posix": _global("posix", "mkdir") + mkdir + REDUCE,
        "system": _global("os", "system") + _text(f"mkdir {path}") + TUPLE1 + REDUCE,
        "eval": _global("builtins", "eval") + _text(code) + TUPLE1 + REDUCE,
        "exec": _global("__builtin__", "exec") + _text(code) + TUPLE1 + REDUCE,
        "getattr": _global("builtins", "getattr") + _global("os", "mkdir") + _text("__call__")
        + TUPLE2 + REDUCE + mkdir + REDUCE,
        "import": _global("builtins", "__import__") + _text("os") + TUPLE1 + REDUCE,
        "torch load": loader + _text(str(path)) + TUPLE1 + REDUCE,
        "torch jit": _global("torch.jit", "load") + _text(str(path)) + TUPLE1 + REDUCE,
        "torch hub": _global("torch.hub", "load") + _text(str(path)) + TUPLE1 + REDUCE,
        "torch utils": _global("torch.utils.cpp_extension", "load") + mkdir + REDUCE,
        "torch utils other": _global("torch._utils", "_import_dotted_name") + mkdir + REDUCE,
        "torch collect env": _global("torch.utils.collect_env", "run") + mkdir + REDUCE,
        "numpy": _global("numpy.core.multiarray", "_reconstruct") + mkdir + REDUCE,
        "numpy load": _global("numpy", "load") + mkdir + REDUCE,
        "numpy testing": _global("numpy.testing._private.utils", "runstring") + mkdir + REDUCE,
        "functools": _global("functools", "partial") + _global("os", "mkdir") + TUPLE1 + REDUCE,
        "operator": _global("operator", "methodcaller") + _text("mkdir") + TUPLE1 + REDUCE,
        "dotted": _text("torch") + _text("serialization.os.mkdir") + STACK_GLOBAL + mkdir + REDUCE,
        "dotted class": _text("model") + _text("RNNModel.__init__") + STACK_GLOBAL + mkdir + REDUCE,
        "dotted listed": _text("torch._utils") + _text("_rebuild_tensor.__globals__")
        + STACK_GLOBAL + EMPTY_TUPLE + REDUCE,
        "names on the stack": _text("os") + _text("mkdir") + STACK_GLOBAL + mkdir + REDUCE,
        "name of another type": _int(3) + _text("mkdir") + STACK_GLOBAL,
        "inst": MARK + _text(str(path)) + b"ios\nmkdir\n",
        "inst of a model": MARK + b"imodel\nRNNModel\n",
        "obj": MARK + _global("os", "mkdir") + _text(str(path)) + OBJ,
        "obj of a model": MARK + model + OBJ,
        "newobj": _global("os", "mkdir") + mkdir + NEWOBJ,
        "newobj with arguments": model + mkdir + NEWOBJ,
        "newobj of a function": _global("torch._utils", "_rebuild_tensor") + EMPTY_TUPLE + NEWOBJ,
        "newobj with keywords": model + EMPTY_TUPLE + EMPTY_DICT + NEWOBJ_EX,
        "model called": model + mkdir + REDUCE,
        "model of another module": _global("evil", "RNNModel") + EMPTY_TUPLE + NEWOBJ,
        "another class of torch": _global("torch.nn.modules.container", "Sequential")
        + EMPTY_TUPLE + NEWOBJ,
        "build a name": model + EMPTY_DICT + BUILD,
        "build a function": _global("torch._utils", "_rebuild_tensor") + EMPTY_DICT
        + _text("__code__") + NONE + SETITEM + BUILD,
        "build a list": EMPTY_LIST + EMPTY_DICT + BUILD,
        "build with slots": model + EMPTY_TUPLE + NEWOBJ + NONE + EMPTY_DICT + TUPLE2 + BUILD,
        "setstate": model + EMPTY_TUPLE + NEWOBJ + EMPTY_DICT + _text("__setstate__")
        + _global("os", "mkdir") + SETITEM + BUILD + _text(str(path)) + BUILD,
        "call of a result": _global("collections", "OrderedDict") + EMPTY_TUPLE + REDUCE
        + mkdir + REDUCE,
        "ordered dict": _global("collections", "OrderedDict") + _text("ab") + TUPLE1 + REDUCE,
        "ordered dict of lists": _global("collections", "OrderedDict") + EMPTY_LIST + EMPTY_LIST
        + APPEND + TUPLE1 + REDUCE,
        "append to a tuple": EMPTY_TUPLE + NONE + APPEND,
        "item of a list": EMPTY_LIST + NONE + NONE + SETITEM,
        "extension": b"\x82\x01",
        "text reference": b"Pstorage\n",
        "text as reference": _text("os") + BINPERSID,
        "name as reference": _global("os", "mkdir") + BINPERSID,
        "odd reference": MARK + _text("os") + _global("os", "mkdir") + TUPLE + BINPERSID,
        "module without class": MARK + _text("module") + mkdir + NONE + NONE + TUPLE + BINPERSID,
        "module of code": MARK + _text("module") + _global("os", "mkdir") + NONE + NONE + TUPLE
        + BINPERSID + mkdir + REDUCE,
        "storage of another type": MARK + _text("storage") + _global("os", "mkdir") + _text("0")
        + _text("cpu") + _int(4) + TUPLE + BINPERSID,
        "storage with a view": MARK + _text("storage") + _global("torch", "FloatStorage")
        + _text("0") + _text("cpu") + _int(4) + _ints(1, 2, 3) + TUPLE + BINPERSID,
        "quantised": _tensor(_storage(4, kind="QInt8Storage"), 0, _ints(4), _ints(1)),
        "two types": _storage(4) + _storage(4, kind="DoubleStorage"),
        "tensor of a list": _tensor(EMPTY_LIST, 0, _ints(4), _ints(1)),
        "tensor without arguments": _global("torch._utils", "_rebuild_tensor") + EMPTY_TUPLE
        + REDUCE,
        "parameter of a text": _global("torch._utils", "_rebuild_parameter") + mkdir + REDUCE,
        "nothing": b"",
        "mark alone": MARK,
        "tuple without mark": TUPLE,
        "unknown memory": b"h\x07",
        "huge number in memory": NONE + b"p" + b"9" * 30 + b"\n",
    }  # fmt: skip


NAMES = tuple(_programs(Path("x")))


@pytest.mark.parametrize("name", NAMES)
def test_nothing_runs(name: str, tmp_path: Path, canary: Path) -> None:
    program = PROTO + _programs(canary)[name] + STOP
    for content in (_zip(program, d0=bytes(16)), _old(program)):
        _refused(content, tmp_path)
        assert not canary.exists()


@pytest.mark.parametrize("name", ["reduce", "eval", "dotted", "inst", "obj", "newobj"])
def test_the_programs_are_dangerous(name: str, tmp_path: Path) -> None:
    """Python itself runs them; otherwise the tests above would say nothing."""
    canary = tmp_path / "canary"
    with pytest.raises(Exception) if name == "newobj" else _nothing():
        pickle.loads(b"\x80\x04" + _programs(canary)[name] + STOP)  # noqa: S301
    assert canary.is_dir() or name == "newobj"


class _nothing:  # noqa: N801
    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass


@pytest.mark.parametrize("is_zip", [True, False], ids=["zip", "old"])
@pytest.mark.parametrize("place", ["whole", "attribute", "weight", "hook"])
def test_code_inside_a_model(place: str, is_zip: bool, tmp_path: Path, canary: Path) -> None:
    model: Any = make_model(1)
    bird = _Calls(os.mkdir, str(canary))
    if place == "attribute":
        model.extra = bird
    elif place == "hook":
        model.register_forward_hook(torch.nn.functional.relu)
    value = {"whole": bird, "weight": {"encoder.weight": bird}}.get(place, model)
    path = save(value, tmp_path / "m.pt", is_zip=is_zip)
    message = _refused(path.read_bytes(), tmp_path)
    assert ("names posix.mkdir" in message) == (place != "hook")
    assert "state_dict()" in message


@pytest.mark.parametrize(
    ("tensor", "problem"),
    [
        (_tensor(_storage(4), 0, _ints(1 << 40), _ints(1)), "larger than its data"),
        (_tensor(_storage(4), 0, _ints(1 << 60), _ints(1)), "impossible size"),
        (_tensor(_storage(4), 0, _ints(-1), _ints(1)), "impossible size"),
        (_tensor(_storage(4), -4, _ints(4), _ints(1)), "impossible size"),
        (_tensor(_storage(4), 0, _ints(4), _ints(-1)), "impossible size"),
        (_tensor(_storage(4), 1, _ints(4), _ints(1)), "larger than its data"),
        (_tensor(_storage(4), 0, _ints(2, 2), _ints(3, 1)), "larger than its data"),
        (_tensor(_storage(4), 0, _ints(1 << 20, 1 << 20), _ints(0, 0)), "larger than its data"),
        (_tensor(_storage(4), 0, _ints(5), _ints(0)), "larger than its data"),
        (_tensor(_storage(4), 0, _ints(2, 2), _ints(1)), "impossible size"),
        (_tensor(_storage(4), 0, _ints(*[1] * 9), _ints(*[1] * 9)), "impossible size"),
        (_tensor(_storage(4), 0, _text("4"), _ints(1)), "impossible size"),
        (_tensor(_storage(4), 0, _global("torch", "Size"), _ints(1)), "impossible size"),
        (_tensor(_storage(5), 0, _ints(4), _ints(1)), "data of a tensor are"),
        (_tensor(_storage(1 << 40), 0, _ints(4), _ints(1)), "data of a tensor are"),
        (_tensor(_storage(4, key="1"), 0, _ints(4), _ints(1)), "data of a tensor are"),
        (_tensor(_storage(4, key="../data.pkl"), 0, _ints(4), _ints(1)), "data of a tensor are"),
    ],
)
@pytest.mark.parametrize("pack", [lambda p: _zip(p, d0=bytes(16)), _old], ids=["zip", "old"])
def test_tensors_that_are_not_there(
    tensor: bytes, problem: str, pack: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    program = PROTO + EMPTY_DICT + _text("encoder.weight") + tensor + SETITEM + STOP
    path = tmp_path / "m.pt"
    path.write_bytes(pack(program))
    with pytest.raises(InputError, match=problem):
        read_weights(path)


def test_a_tensor_that_is_there(tmp_path: Path) -> None:
    """The programs above are wrong only where they are meant to be."""
    tensor = _tensor(_storage(4), 1, _ints(3, 1), _ints(1, 1))
    program = PROTO + EMPTY_DICT + _text("encoder.weight") + tensor + SETITEM + STOP
    for content in (_zip(program, d0=np.arange(4, dtype="<f4").tobytes()), _old(program)):
        path = tmp_path / "m.pt"
        path.write_bytes(content)
        with pytest.raises(InputError, match="the weights of encoder, rnn or decoder are missing"):
            read_weights(path)
    with torch_files.open_torch_file(path) as file:
        found = file.array(file.content.named()["encoder.weight"])
    assert found.tolist() == [[0.0], [0.0], [0.0]]


def test_a_negated_view_is_refused(tmp_path: Path) -> None:
    arguments = MARK + _storage(4) + _int(0) + _ints(4) + _ints(1) + b"\x89" + EMPTY_DICT
    metadata = EMPTY_DICT + _text("neg") + b"\x88" + SETITEM
    program = _global("torch._utils", "_rebuild_tensor_v2") + arguments + metadata + TUPLE + REDUCE
    message = _refused(_zip(PROTO + program + STOP, d0=bytes(16)), tmp_path)
    assert "negated or conjugated" in message


@pytest.mark.parametrize("is_zip", [True, False], ids=["zip", "old"])
def test_truncated_files(is_zip: bool, tmp_path: Path) -> None:
    content = save(make_model(2), tmp_path / "m.pt", is_zip=is_zip).read_bytes()
    for end in [0, 1, 3, 10, *range(50, len(content), 397), len(content) - 1]:
        (tmp_path / "m.pt").write_bytes(content[:end])
        with pytest.raises(InputError, match="not a model that can be converted"):
            read_weights(tmp_path / "m.pt")


def _other_zips() -> dict[str, bytes]:
    program = PROTO + EMPTY_DICT + STOP
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", program + bytes(1 << 20))
    script, big, plain, two = io.BytesIO(), io.BytesIO(), io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(script, "w") as archive:
        archive.writestr("a/data.pkl", program)
        archive.writestr("a/constants.pkl", program)
    with zipfile.ZipFile(big, "w") as archive:
        archive.writestr("a/data.pkl", program)
        archive.writestr("a/byteorder", "big")
    with zipfile.ZipFile(plain, "w") as archive:
        archive.writestr("document.xml", "<a/>")
    with zipfile.ZipFile(two, "w") as archive:
        archive.writestr("a/data.pkl", program)
        archive.writestr("b/data.pkl", program)
    return {
        "compressed": packed.getvalue(),
        "TorchScript": script.getvalue(),
        "big-endian": big.getvalue(),
        "but not one of torch.save": plain.getvalue(),
        "not one of torch.save": two.getvalue(),
    }


@pytest.mark.parametrize("problem", _other_zips())
def test_other_zip_files(problem: str, tmp_path: Path) -> None:
    assert problem in _refused(_other_zips()[problem], tmp_path)


def test_old_files_of_other_kinds(tmp_path: Path) -> None:
    system = {"little_endian": False}
    magic = torch_files._MAGIC
    for values, problem in {
        (1, 2): "damaged",
        (magic, 1000, None): "not a file of torch.save",
        ("magic", 1001, None): "not a file of torch.save",
        (magic, 1001, 3): "big-endian",
    }.items():
        content = b"".join(pickle.dumps(value, 2) for value in values)
        assert problem in _refused(content, tmp_path)
    content = b"".join(pickle.dumps(value, 2) for value in (magic, 1001, system))
    assert "big-endian" in _refused(content, tmp_path)
    assert "damaged" in _refused(b"\x00" * 1000, tmp_path)
    assert "damaged" in _refused(b"the\ncat\n", tmp_path)


@pytest.mark.parametrize("length", [1 << 31, (1 << 32) - 1])
def test_lengths_are_checked_before_memory_is_reserved(length: int, tmp_path: Path) -> None:
    program = PROTO + b"X" + struct.pack("<I", length) + b"short" + STOP
    for content in (_zip(program), _old(program)):
        assert "damaged" in _refused(content, tmp_path)


def test_long_programs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pickle_machine, "MOST_OPERATIONS", 1000)
    program = PROTO + EMPTY_LIST + (NONE + APPEND) * 1000 + STOP
    assert "too long" in _refused(_zip(program), tmp_path)


def test_deep_and_shared_values_take_little_time(tmp_path: Path) -> None:
    deep = PROTO + EMPTY_TUPLE + TUPLE1 * 10_000 + STOP
    shared = EMPTY_LIST + b"".join(b"2aq\x00h\x00" for _ in range(50))  # lists in themselves
    doubled = PROTO + EMPTY_TUPLE + (b"2" + TUPLE2) * 200 + STOP
    for program in (deep, PROTO + shared + STOP, doubled):
        _refused(_zip(program), tmp_path)
    for inside in (deep, doubled):
        program = PROTO + EMPTY_DICT + _text("a") + inside[2:-1] + SETITEM + STOP
        _refused(_zip(program), tmp_path)
        key = PROTO + EMPTY_DICT + inside[2:-1] + NONE + SETITEM + STOP
        _refused(_zip(key), tmp_path)
        reference = PROTO + inside[2:-1] + BINPERSID + STOP
        _refused(_zip(reference), tmp_path)
        argument = PROTO + _global("torch", "Size") + inside[2:-1] + REDUCE + STOP
        _refused(_zip(argument), tmp_path)


def test_all_operations_are_known_or_refused() -> None:
    known = {*pickle_machine._IGNORED, *pickle_machine._CONSTANTS}
    known |= {*pickle_machine._TEXTS, *pickle_machine._OPERATIONS}
    names = {operation.name for operation in pickletools.opcodes}
    assert known < names
    assert names - known == {
        *("INST", "OBJ", "NEWOBJ_EX", "PERSID", "EXT1", "EXT2", "EXT4", "FROZENSET"),
        *("BYTEARRAY8", "NEXT_BUFFER", "READONLY_BUFFER"),
    }


def test_the_list_of_names_is_short_and_exact() -> None:
    """A new name here is a decision: its call is made by our own code, never by Python."""
    functions = pickled_calls.CALLS
    assert all(function.__module__ == pickled_calls.__name__ for function in functions.values())
    assert {str(name) for name in functions} == {
        "torch._utils._rebuild_tensor", "torch._utils._rebuild_tensor_v2",
        "torch._utils._rebuild_parameter", "torch.nn.parameter.Parameter", "torch.Size",
        "torch.nn.backends.thnn._get_thnn_function_backend", "collections.OrderedDict",
        "collections.defaultdict", "collections.Counter", "__builtin__.set", "builtins.set",
    }  # fmt: skip
    assert {name.module for name in PICKLED_CLASSES} == {
        "model", "__main__", "language_models.model", "src.language_models.model", "data",
        "torch.nn.modules.sparse", "torch.nn.modules.rnn", "torch.nn.modules.linear",
        "torch.nn.modules.dropout",
    }  # fmt: skip


def test_listed_functions_attached_to_a_model_are_refused(tmp_path: Path) -> None:
    model = make_model(3)
    model.encoder.register_forward_hook(torch.Size)  # type: ignore[arg-type]
    message = _refused(save(model, tmp_path / "m.pt").read_bytes(), tmp_path)
    assert "change its results" in message or "not a corpus" in message


def test_pickles_of_old_versions(tmp_path: Path) -> None:
    """Python 2 and PyTorch 0.3: byte strings, parameters as calls, entries as lists."""
    tensor = _tensor(_storage(4), 0, _ints(4), _ints(1))
    state = MARK + b"\x88\x89" + _global("collections", "OrderedDict") + EMPTY_TUPLE + REDUCE
    parameter = _global("torch.nn.parameter", "Parameter") + tensor + TUPLE1 + REDUCE
    parameter += state + TUPLE + BUILD
    name = b"U" + bytes([len("caf\u00e9".encode())]) + "caf\u00e9".encode()
    entry = EMPTY_LIST + MARK + name + parameter + b"e"
    entries = EMPTY_LIST + entry + APPEND
    program = PROTO + _global("collections", "OrderedDict") + entries + TUPLE1 + REDUCE + STOP
    path = tmp_path / "m.pt"
    path.write_bytes(_old(program))
    with torch_files.open_torch_file(path) as file:
        (found,) = file.content.named().items()
        assert found[0] == "caf\u00e9" and file.array(found[1]).tolist() == [0.0] * 4
