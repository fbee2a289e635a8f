"""What a pickle of PyTorch describes: values, names and tensors, but no live objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple


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
