"""Python processes: the command that starts another one, and whether others run beside this."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from gardenpath.places import PACKAGE

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
