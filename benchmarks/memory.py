"""Measure the peak memory of a function in its own process."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")


def peak_gb(work: Callable[[], object]) -> float:
    """Return the peak memory (GB) of the function, beyond what the process used before."""
    _reset_peak()
    before = kilobytes("VmRSS")
    work()
    return max(kilobytes("VmHWM") - before, 0) / 2**20


def _reset_peak() -> None:
    """Reset the peak to the memory in use now, if the system supports it."""
    if _CLEAR.exists():
        _CLEAR.write_text("5")


def kilobytes(field: str) -> int:
    """Read a field of the process's memory status."""
    if _STATUS.exists():
        # Not ru_maxrss, because a process inherits that of its parent.
        for line in _STATUS.read_text("utf-8").splitlines():
            if line.startswith(f"{field}:"):
                return int(line.split()[1])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak // 1024 if sys.platform == "darwin" else peak


def in_own_process(module: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Run ``python -m module --only SETTINGS`` and parse its last line of output as JSON."""
    command = [sys.executable, "-m", module, "--only", json.dumps(settings)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found
