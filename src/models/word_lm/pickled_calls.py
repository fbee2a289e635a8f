"""What the functions that pickles of models call return; the functions themselves never run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gardenpath.models.word_lm.pickled import (
    GlobalName,
    PickledDict,
    PickledStorage,
    PickledTensor,
    RefusedPickleError,
    size_of,
    sizes_of,
)


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
