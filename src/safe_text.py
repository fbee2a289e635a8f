"""Parse YAML and JSON of users and of stored files, in bounded time and memory.

All YAML and JSON of the package is parsed here. Only plain data is constructed: mappings, lists,
text, numbers, dates. Refused are nesting that would exhaust the stack (libyaml crashes the process
at 100,000 brackets), aliases that expand to more than their file could hold, keys that occur twice,
and characters that no file could be written with. Every error is a :class:`MalformedTextError`,
which is a ValueError and knows its line; the callers add the file and the remedy.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

import yaml
from yaml.constructor import SafeConstructor

# Suites have a depth of 5, run configurations of 6, Hydra's configurations of 8.
MOST_NESTED = 100
# A suite of ten thousand items has about 5 million characters.
MOST_CHARACTERS = 50_000_000
# Nodes after the expansion of aliases; a file without aliases may have more.
MOST_EXPANDED = 100_000

# The same loader implemented in C, if PyYAML was built with it.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_NO_ALIAS = "write the content out instead of an alias such as *name"
_TAB = re.compile(r" *\t")
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")


class MalformedTextError(ValueError):
    """Text that cannot be parsed, or not safely; ``line`` counts from 1."""

    def __init__(self, problem: str, *, line: int | None = None, remedy: str = "") -> None:
        self.problem = problem
        self.line = line
        self.remedy = remedy
        super().__init__(problem if line is None else f"line {line}: {problem}")


def parse_json(text: str, *, any_string: bool = False) -> Any:
    """Parse JSON; NaN and infinities are accepted, as Python writes them.

    With ``any_string``, strings need not be Unicode text: Python may have written them.
    """
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        raise MalformedTextError(f"is not JSON: {error.msg}", line=error.lineno) from error
    except RecursionError as error:
        raise _too_deep(None) from error
    except ValueError as error:  # a whole number of thousands of digits
        raise MalformedTextError(f"is not JSON: {_first_line(error)}") from error
    _require_shallow(content)
    if not any_string and _SURROGATE_ESCAPE.search(text):
        _require_characters(content)
    return content


def parse_yaml(text: str) -> Any:
    """Parse YAML to plain data; None if the text is empty."""
    node = yaml_tree(text)
    return None if node is None else plain_data(node)


def plain_data(node: yaml.Node) -> Any:
    """Return the plain data of a node of :func:`yaml_tree`."""
    _require_single_keys(node)
    try:
        content = SafeConstructor().construct_document(node)
    except yaml.MarkedYAMLError as error:
        raise _of_yaml(error) from error
    except (yaml.YAMLError, ValueError, TypeError, OverflowError, RecursionError) as error:
        # For example a date such as 2021-13-45, or a whole number of thousands of digits
        raise MalformedTextError(f"cannot be read: {_first_line(error)}") from error
    except (KeyError, IndexError, AttributeError) as error:  # PyYAML on "!!int", "!!bool x"
        raise MalformedTextError("has a value that does not fit its tag") from error
    _require_characters(content)
    return content


def yaml_tree(text: str) -> yaml.Node | None:
    """Parse YAML to nodes, which know their lines; None if the text is empty."""
    if len(text) > MOST_CHARACTERS:
        problem = f"has {len(text):,} characters, but at most {MOST_CHARACTERS:,} are read"
        raise MalformedTextError(problem)
    try:
        _require_bounded(yaml.parse(text, Loader=_LOADER))
        node: yaml.Node | None = yaml.compose(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        raise _of_yaml(error, text) from error
    except (yaml.YAMLError, UnicodeEncodeError) as error:
        raise MalformedTextError(f"is not YAML: {_first_line(error)}") from error
    return node


def _of_yaml(error: yaml.MarkedYAMLError, text: str = "") -> MalformedTextError:
    line = error.problem_mark.line + 1 if error.problem_mark else None
    lines = text.split("\n")
    if line is not None and line <= len(lines) and _TAB.match(lines[line - 1]):
        problem = "a tab at the beginning of the line, which YAML does not allow"
        return MalformedTextError(problem, line=line, remedy="indent the line with blanks")
    return MalformedTextError(error.problem or "is not YAML", line=line)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


def _too_deep(line: int | None) -> MalformedTextError:
    problem = f"brackets or levels are nested more than {MOST_NESTED} deep"
    return MalformedTextError(problem, line=line, remedy="close brackets earlier")


def _require_bounded(events: Iterator[yaml.Event]) -> None:
    """Follow the events of a parser, which needs no recursion, before nodes are built.

    ``sizes`` counts the nodes of each open collection, aliases with all that they stand for.
    """
    sizes, anchors, names = [0], dict[str, int](), list[str | None]()
    nodes = 0
    for event in events:
        line = event.start_mark.line + 1 if event.start_mark else None
        if isinstance(event, yaml.CollectionStartEvent):
            if len(names) == MOST_NESTED:
                raise _too_deep(line)
            names.append(event.anchor)
            sizes.append(1)
            nodes += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            size, name = sizes.pop(), names.pop()
            if name is not None:
                anchors[name] = size
            sizes[-1] += size
        elif isinstance(event, yaml.ScalarEvent):
            if event.anchor is not None:
                anchors[event.anchor] = 1
            sizes[-1] += 1
            nodes += 1
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor in names:
                problem = f"the alias *{event.anchor} contains itself"
                raise MalformedTextError(problem, line=line, remedy=_NO_ALIAS)
            sizes[-1] += anchors.get(event.anchor or "", 1)
            if sum(sizes) > max(MOST_EXPANDED, 10 * nodes):
                problem = "aliases expand to more than a file of this length can mean"
                raise MalformedTextError(problem, line=line, remedy=_NO_ALIAS)


def _require_single_keys(root: yaml.Node) -> None:
    seen: set[int] = set()
    pending = [root]
    while pending:
        node = pending.pop()
        if id(node) in seen or isinstance(node, yaml.ScalarNode):
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            pending += node.value
            continue
        firsts: dict[tuple[str, str], yaml.Node] = {}
        for key, value in node.value:
            pending += (key, value)
            if isinstance(key, yaml.ScalarNode):
                first = firsts.setdefault((key.tag, key.value), key)
                if first is not key:
                    where = f"first in line {first.start_mark.line + 1}"
                    problem = f"{key.value[:50]!r} occurs twice in a mapping, {where}"
                    raise MalformedTextError(problem, line=key.start_mark.line + 1)


def _require_shallow(content: Any) -> None:
    level = [content]
    for _ in range(MOST_NESTED + 1):
        inner: list[Any] = []
        for node in level:
            if isinstance(node, dict):
                inner += [value for value in node.values() if isinstance(value, dict | list)]
            elif isinstance(node, list):
                inner += [value for value in node if isinstance(value, dict | list)]
        if not inner:
            return
        level = inner
    raise _too_deep(None)


def _require_characters(content: Any) -> None:
    """Refuse halves of surrogate pairs: text with these cannot be written to any file."""
    pending = [content]
    while pending:
        node = pending.pop()
        if isinstance(node, str):
            try:
                node.encode("utf-8")
            except UnicodeEncodeError as error:
                raise MalformedTextError(f"{node[:50]!r} is not Unicode text") from error
        elif isinstance(node, dict):
            pending += [*node.keys(), *node.values()]
        elif isinstance(node, list | tuple):
            pending += node


# ----------------------------------------------------------------------------
# The encoding of text that is not UTF-8, guessed, and the command that converts it.


_MARKS = (
    # UTF-32 begins like UTF-16, so it goes first.
    (b"\xff\xfe\x00\x00", "UTF-32"),
    (b"\x00\x00\xfe\xff", "UTF-32"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
)
_LOOKED_AT = 100_000
# Chinese characters in GB18030 are nearly always pairs of bytes from this one on; letters with
# accents in the encodings of Europe stand alone between others.
_FIRST_OF_PAIRS = 0xA1


def probable_encoding(content: bytes) -> str:
    """Return the name, for iconv, of the encoding that bytes which are no UTF-8 probably have."""
    head = content[:_LOOKED_AT]
    if certain := marked_encoding(head) or zeros_encoding(head):
        return certain
    if _is_in_pairs(head):
        return "GB18030"
    return "WINDOWS-1252" if any(0x80 <= byte <= 0x9F for byte in head) else "LATIN1"


def marked_encoding(head: bytes) -> str:
    """Return the encoding that a byte order mark states; empty without one."""
    return next((name for mark, name in _MARKS if head.startswith(mark)), "")


def zeros_encoding(head: bytes) -> str:
    """Return the form of UTF-16 in which every second byte of Latin text is zero, or nothing."""
    for name, zeros in (("UTF-16LE", head[1::2]), ("UTF-16BE", head[::2])):
        if b"\x00" in zeros and zeros.count(0) * 2 > len(zeros):
            return name
    return ""


def how_to_convert(encoding: str, path: str | PurePath | None) -> str:
    """Return the command that writes a file, or standard input (None), as UTF-8."""
    convert = f"iconv -f {encoding} -t UTF-8"
    if path is None:
        return f"convert it with: {convert} FILE | python evaluate.py …"
    name = PurePath(path)
    new = name.with_name(f"{name.stem}.utf8{name.suffix}")
    return f"convert it with: {convert} {shlex.quote(str(name))} > {shlex.quote(str(new))}"


def _is_in_pairs(head: bytes) -> bool:
    high = paired = place = 0
    while place < len(head):
        is_high = head[place] >= 0x80
        is_pair = is_high and min(head[place : place + 2]) >= _FIRST_OF_PAIRS
        is_pair = is_pair and place + 1 < len(head)
        high += 1 + is_pair if is_high else 0
        paired += 2 * is_pair
        place += 2 if is_pair else 1
    return high > 0 and paired * 10 > high * 9
