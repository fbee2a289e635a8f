"""Read pickles without running anything that they name.

A pickle is a program for a machine with a stack. Python's own machine imports and calls whatever a
pickle names; restricting the names is not enough, because attributes of what is allowed lead
elsewhere. This machine has no objects of Python to call: classes and functions are names
(:class:`GlobalName`) from exact lists, and of a call only its result is made, in
:mod:`pickled_calls`. Everything else is refused.
"""

from __future__ import annotations

import io
import pickletools
from collections.abc import Callable, Mapping
from typing import Any

from gardenpath.models.word_lm.pickled import (
    PICKLED_CLASSES,
    STORAGES,
    GlobalName,
    PickledDict,
    PickledObject,
    PickledStorage,
    PickledTensor,
    RefusedPickleError,
    storage_of,
)
from gardenpath.models.word_lm.pickled_calls import CALLS, DATA

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
