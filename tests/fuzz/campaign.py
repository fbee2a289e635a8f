"""Many inputs for one reader, valid ones that are changed, with limits of time and memory."""

from __future__ import annotations

import random
import re
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType

from tests.fuzz.corpus_readers import CORPUS_READERS, RAW_READERS
from tests.fuzz.reader import Reader, is_refused
from tests.fuzz.run_readers import RUN_READERS
from tests.fuzz.suite_readers import SUITE_READERS
from tests.fuzz.table_readers import FORM_READERS, TABLE_READERS

_TOKEN = re.compile(r"\w+|[ \t]+|\n|.", re.DOTALL)

ODD: tuple[str, ...] = (
    *("", " ", "\t", "\n", "\r", "\r\n", "\0", "\x0b", "\x1c", "\x85", "\xa0", "\u2028", "\u3000"),
    *("\ufeff", "\u200b", "\U0001f600", "é", "e\u0301", "²", "٣", "１２", "Ⅷ", "\\ud800"),
    *("\\u0000", "\\x00"),
    *("0", "-0", "-1", "1", "2", "255", "65536", "2147483648", "9223372036854775808", "9" * 30),
    *("1e999", "-1e999", "1e-999", "nan", "NaN", "inf", "-inf", "Infinity", "1_000", "1,5"),
    *("9" * 5000, "a" * 1000, " " * 500, "((((((((", "[[[[[[[[", "{{{{{{{{", "- - - - ", "? ? ? "),
    *("(", ")", "[", "]", "{", "}", "<", ">", "|", "||", "&", "*", "!", "%", "@", "`", "'", '"'),
    *("#", ":", ": ", ";", ",", "=", "~", "^", "\\", "/", "->", "--", "---", "...", "$x", "${x}"),
    *("null", "true", "false", "yes", "no", "[]", "{}", '""', "&a", "*a", "<<", "<<: *a", "!!int"),
    *("!!python/object/apply:os.system [x]", "!!binary x", "2021-13-45", "12:30:45", "0o17", "*"),
    *("../../x", "/x", "..", "./.", "x/y", "${oc.env:HOME}", "???", "_target_", "<s>", "</s>"),
    *("<unk>", "<pad>", "<eos>", "-LRB-", "-NONE-", "{modifier}", "\\data\\", "\\end\\"),
    *("<script>alert(1)</script>", "a;b", "a|b", "(a;%b%)", "__class__", "I(x^2)", "1/0", "1/3"),
)  # fmt: skip

Change = Callable[[random.Random, list[str]], None]


def _span(chance: random.Random, tokens: Sequence[str], longest: int = 8) -> tuple[int, int]:
    begin = chance.randrange(len(tokens) + 1)
    return begin, min(len(tokens), begin + 1 + int(chance.random() ** 2 * longest))


def _delete(chance: random.Random, tokens: list[str]) -> None:
    begin, end = _span(chance, tokens)
    del tokens[begin:end]


def _repeat(chance: random.Random, tokens: list[str]) -> None:
    begin, end = _span(chance, tokens)
    tokens[begin:begin] = tokens[begin:end] * chance.choice((1, 1, 1, 2, 5, 20))


def _move(chance: random.Random, tokens: list[str]) -> None:
    begin, end = _span(chance, tokens)
    moved = tokens[begin:end]
    del tokens[begin:end]
    place = chance.randrange(len(tokens) + 1)
    tokens[place:place] = moved


def _insert(chance: random.Random, tokens: list[str]) -> None:
    tokens.insert(chance.randrange(len(tokens) + 1), chance.choice(ODD))


def _replace(chance: random.Random, tokens: list[str]) -> None:
    if tokens:
        tokens[chance.randrange(len(tokens))] = chance.choice(ODD)


def _copy(chance: random.Random, tokens: list[str]) -> None:
    """Replace a token by another token of the input: valid names in wrong places."""
    if tokens:
        tokens[chance.randrange(len(tokens))] = tokens[chance.randrange(len(tokens))]


def _cut(chance: random.Random, tokens: list[str]) -> None:
    del tokens[chance.randrange(len(tokens) + 1) :]


_CHANGES: tuple[Change, ...] = (
    *(_delete, _delete, _repeat, _move, _insert, _insert, _replace, _replace, _replace),
    *(_copy, _copy, _copy, _cut),
)


class Mutator:
    """Yields inputs made from valid ones, which are text or, with ``is_binary``, bytes."""

    def __init__(self, seeds: Sequence[bytes], number: int, *, is_binary: bool = False) -> None:
        self._chance = random.Random(number)
        self._seeds = list(seeds)
        self._is_binary = is_binary
        texts = [] if is_binary else [seed.decode("utf-8") for seed in seeds]
        self._tokens = [_TOKEN.findall(text) for text in texts]

    def input(self) -> bytes:
        """Return the next input."""
        kind = self._chance.random()
        if kind < 0.02:
            return self._chance.randbytes(self._chance.randrange(60))
        if self._is_binary or kind < 0.08:
            return self._bytes()
        tokens = list(self._chance.choice(self._tokens))
        if kind < 0.15:
            self._splice(tokens)
        for _ in range(1 + int(self._chance.random() ** 3 * 8)):
            self._chance.choice(_CHANGES)(self._chance, tokens)
        return "".join(tokens).encode("utf-8", "surrogatepass")

    def _splice(self, tokens: list[str]) -> None:
        other = self._chance.choice(self._tokens)
        del tokens[self._chance.randrange(len(tokens) + 1) :]
        tokens += other[self._chance.randrange(len(other) + 1) :]

    def _bytes(self) -> bytes:
        chance, content = self._chance, bytearray(self._chance.choice(self._seeds))
        for _ in range(1 + int(chance.random() ** 3 * 8)):
            place = chance.randrange(len(content) + 1)
            kind = chance.randrange(6)
            if kind == 0 and place < len(content):
                content[place] ^= 1 << chance.randrange(8)
            elif kind == 1 and place < len(content):
                content[place] = chance.choice((0, 1, 0x7F, 0x80, 0xFF))
            elif kind == 2:
                content[place:place] = chance.randbytes(chance.randrange(1, 9))
            elif kind == 3:
                del content[place : place + chance.randrange(1, 9)]
            elif kind == 4:
                content[place : place + 8] = chance.choice((b"\xff" * 8, b"\0" * 8, b"\x7f" * 8))
            else:
                del content[place:]
        return bytes(content)


# ----------------------------------------------------------------------------
# All fuzzed readers by name.


READERS: Mapping[str, Reader] = {
    reader.name: reader
    for reader in (
        *CORPUS_READERS,
        *RAW_READERS,
        *SUITE_READERS,
        *TABLE_READERS,
        *FORM_READERS,
        *RUN_READERS,
    )
}


# ----------------------------------------------------------------------------
# Try many inputs on one reader, with limits of time and memory for each.


# Seconds of CPU time within which any small input is read or refused.
MOST_SECONDS = 20.0
# Addressable memory of the process; torch alone maps several gigabytes.
MOST_MEMORY = 24 * 2**30


class TookTooLongError(BaseException):
    """A reader used more CPU time than any input of this size may need."""


@dataclass
class Findings:
    """Counts of a campaign; ``found`` has the message and input of each distinct failure."""

    reader: str
    inputs: int = 0
    refused: int = 0
    seconds: float = 0.0
    found: dict[str, tuple[str, bytes]] = field(default_factory=dict)

    def __str__(self) -> str:
        rate = self.inputs / self.seconds if self.seconds else 0.0
        return (
            f"{self.reader:22} {self.inputs:>9,} inputs {self.refused:>9,} refused "
            f"{len(self.found):>3} findings {self.seconds:>8.1f} s {rate:>7,.0f} per second"
        )


def run_campaign(
    reader: Reader, inputs: int, *, number: int = 0, seconds: float = float("inf")
) -> Findings:
    """Try a number of inputs, or as many as possible in ``seconds``; ``number`` selects them."""
    mutator = Mutator(reader.seeds, number, is_binary=reader.is_binary)
    findings = Findings(reader.name)
    began = time.monotonic()
    with _limited():
        for count in range(1, inputs + 1):
            try_input(reader, mutator.input(), findings)
            if count % 16 == 0 and time.monotonic() - began > seconds:
                break
    findings.seconds = time.monotonic() - began
    return findings


def try_input(reader: Reader, content: bytes, findings: Findings) -> None:
    """Read one input and record what is neither a result nor a message."""
    signal.setitimer(signal.ITIMER_VIRTUAL, MOST_SECONDS)
    try:
        findings.refused += is_refused(reader, content)
    except (Exception, TookTooLongError) as error:
        findings.found.setdefault(_where(error), (str(error)[:200], content))
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
    findings.inputs += 1


def _where(error: BaseException) -> str:
    """Return the failure and its place, by which failures are told apart."""
    places = [
        f"{one.filename.rpartition('/src/')[2]}:{one.lineno}"
        for one in traceback.extract_tb(error.__traceback__)
        if "/src/" in one.filename or "/tests/" in one.filename or "/gardenpath/" in one.filename
    ]
    return f"{type(error).__name__} at {places[-1] if places else '?'}"


@contextmanager
def _limited() -> Iterator[None]:
    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise TookTooLongError(f"more than {MOST_SECONDS} s of CPU time")

    before = signal.signal(signal.SIGVTALRM, stop)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.signal(signal.SIGVTALRM, before)
