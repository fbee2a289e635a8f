"""Helpers that everything may use: words shown to users, units, own paths, versions, processes.

No module of the package is imported here, and nothing slow: settings and --help need it.
"""

from __future__ import annotations

import importlib.metadata
import math
import os
import platform
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, overload

from gardenpath import __version__

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

# The words of a sentence.
Words = tuple[str, ...]

_MOST_DIGITS = 18
# File systems allow names of 255 bytes; temporary files have longer names than their targets.
_LONGEST_STEM = 150
_NOT_IN_FILE_NAMES = re.compile(r"[^\w.-]+")

NO_BREAK = "\N{NO-BREAK SPACE}"
_KEPT_TOGETHER = re.compile(
    r"(?<=\S) (?=[=<>] )|(?<=[=<>]) (?=\S)|(?<=\bS[ED]) (?=[\d−])|(?<=\bmean) (?=[\d−])"
    r"|(?<=\d) (?=bits\b|%)"
)


def unbroken(content: str) -> str:
    """Replace the spaces inside numbers by no-break spaces: ``p = .061``, ``95 %``."""
    return _KEPT_TOGETHER.sub(NO_BREAK, content)


def key(value: object) -> str:
    """Convert a value to the spelling used in configurations: ``Verb-Noun`` is ``verb_noun``."""
    return str(value).strip().lower().replace("-", "_").replace(" ", "_")


def spaced(name: object) -> str:
    """Replace underscores in a name by spaces: ``classifier noun``."""
    return str(name).replace("_", " ")


def heading(name: str) -> str:
    """Format a name as the beginning of a title: ``wh_discharge`` becomes ``Wh discharge``."""
    words = spaced(name)
    return f"{words[:1].upper()}{words[1:]}"


def enumeration(values: Sequence[object], *, last: str = ", ") -> str:
    """List distinct values once each; ``last`` separates the last two."""
    texts = list(dict.fromkeys(str(value) for value in values))
    return last.join(filter(None, [", ".join(texts[:-1]), *texts[-1:]]))


def file_stem(name: str) -> str:
    """Return a name, which may come from a file, as a name within a folder: ``a/b`` is ``a_b``."""
    return short_stem(_NOT_IN_FILE_NAMES.sub("_", name).strip("_.")) or "unnamed"


def short_stem(stem: str) -> str:
    """Return the beginning of a name, as much as file systems allow with some letters added."""
    return stem.encode("utf-8", "replace")[:_LONGEST_STEM].decode("utf-8", "ignore")


def is_count(text: str) -> bool:
    """Whether a text is a whole number that any count or identifier could have.

    Python refuses to convert numbers of thousands of digits.
    """
    return text.isdecimal() and len(text) <= _MOST_DIGITS


def plural(count: int, noun: str) -> str:
    """Return a count with its noun: ``1 model``, ``2 models``."""
    return f"{count} {noun}{'s' * (count != 1)}"


# ----------------------------------------------------------------------------
# Units of information: nats internally, bits for users, log10 in ARPA files.
#
# Models return the log probability of an event in nats (``log_prob``); tables show its surprisal
# in bits (``surprisal_bits``). Surprisal is the negative log probability, so both functions change
# the sign as well as the unit.


NATS_PER_BIT = math.log(2.0)

# ARPA files use logarithms to base 10.
NATS_PER_LOG10 = math.log(10.0)

# Beyond this many nats, exp() overflows a double.
_LARGEST_EXPONENT = 700.0


@overload
def bits(log_prob_nats: float) -> float: ...


@overload
def bits(log_prob_nats: npt.NDArray[np.floating]) -> npt.NDArray[np.float64]: ...


def bits(
    log_prob_nats: float | npt.NDArray[np.floating],
) -> float | npt.NDArray[np.float64]:
    """Convert log probabilities (nats) to surprisals (bits), in double precision.

    The surprisal of a certain event is 0.0, never -0.0; that of an impossible event is infinite,
    and NaN stays NaN.
    """
    import numpy as np  # here, because settings need only other helpers of this module

    # 0.0 - x instead of -x: the negative of 0.0 would be -0.0.
    if isinstance(log_prob_nats, np.ndarray):
        return (0.0 - log_prob_nats.astype(np.float64)) / NATS_PER_BIT
    return (0.0 - log_prob_nats) / NATS_PER_BIT


@overload
def nats(surprisal_bits: float) -> float: ...


@overload
def nats(surprisal_bits: npt.NDArray[np.floating]) -> npt.NDArray[np.float64]: ...


def nats(
    surprisal_bits: float | npt.NDArray[np.floating],
) -> float | npt.NDArray[np.float64]:
    """Convert surprisals (bits) to log probabilities (nats); the inverse of :func:`bits`."""
    import numpy as np

    if isinstance(surprisal_bits, np.ndarray):
        return (0.0 - surprisal_bits.astype(np.float64)) * NATS_PER_BIT
    return (0.0 - surprisal_bits) * NATS_PER_BIT


def json_number(value: float) -> float | str | None:
    """Return a number as JSON; NaN becomes null and infinities text, as JSON has neither."""
    if math.isnan(value):
        return None
    return value if math.isfinite(value) else ("Infinity" if value > 0 else "-Infinity")


def perplexity_of(nats_per_event: float) -> float:
    """Convert a mean negative log-likelihood (nats) to perplexity; infinite if it overflows."""
    return math.exp(nats_per_event) if nats_per_event < _LARGEST_EXPONENT else math.inf


# ----------------------------------------------------------------------------
# Paths of the package's own files, in a checkout and in an installed wheel.


PACKAGE = Path(__file__).resolve().parent

# In a checkout, conf/ is next to the package folder; in a wheel, it is inside.
CONFIG_DIR = next(
    folder for folder in (PACKAGE / "conf", PACKAGE.parent / "conf") if folder.is_dir()
)


# ----------------------------------------------------------------------------
# Versions of the software that produced a result.


# The checkout, if the package is part of one.
ROOT = PACKAGE.parent


def versions(*packages: str) -> str:
    """Return ``Gardenpath 0.1.0 (commit 1a2b3c4), Python 3.11.7, …`` with installed packages."""
    said = [f"Gardenpath {__version__}{_revision(ROOT)}", f"Python {platform.python_version()}"]
    for name in packages:
        try:
            said.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return ", ".join(said)


def _revision(root: Path) -> str:
    """Return `` (commit 1a2b3c4)``, or nothing if the files are not a checkout of their own."""
    if not (root / ".git").exists():
        return ""
    command = ["git", "-C", str(root), "describe", "--always", "--abbrev=9", "--exclude=*"]
    try:
        completed = subprocess.run(
            [*command, "--dirty= and changes"], capture_output=True, text=True, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return "" if completed.returncode else f" (commit {completed.stdout.strip()})"


# ----------------------------------------------------------------------------
# Python processes: the command that starts another one, and whether others run beside this.


# Imports the package from where this process has it, even if another version is installed.
_PROGRAM = """\
import importlib.util, sys
spec = importlib.util.spec_from_file_location("gardenpath", sys.argv[1])
sys.modules["gardenpath"] = package = importlib.util.module_from_spec(spec)
spec.loader.exec_module(package)
from {module} import {function}
{function}()
"""

# Set for processes that run jobs of a sweep, to the number of the process that started them.
_SWEEP_PROCESS = "GARDENPATH_SWEEP_PROCESS"


def tied_to_this_process() -> Mapping[str, str]:
    """Return the environment of processes whose jobs end with this process."""
    return {_SWEEP_PROCESS: str(os.getpid())}


def sweep_process() -> int:
    """Return the number of the process whose sweep this process works for; 0 if there is none."""
    return int(os.environ.get(_SWEEP_PROCESS, "0"))


def is_parallel_job() -> bool:
    """Whether jobs beside this one write to the same terminal, so that bars would mix."""
    return sweep_process() != 0


def python_command(module: str, function: str) -> list[str]:
    """Return the command of a process that calls a function without arguments, then ends.

    The module and the function are names in the code, never input.
    """
    program = _PROGRAM.format(module=module, function=function)
    # -P: the current folder must not hide modules.
    return [sys.executable, "-P", "-c", program, str(PACKAGE / "__init__.py")]
