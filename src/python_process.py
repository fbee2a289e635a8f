"""The command that starts another Python process with the package of this one."""

from __future__ import annotations

import sys

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


def python_command(module: str, function: str) -> list[str]:
    """Return the command of a process that calls a function without arguments, then ends.

    The module and the function are names in the code, never input.
    """
    program = _PROGRAM.format(module=module, function=function)
    # -P: the current folder must not hide modules.
    return [sys.executable, "-P", "-c", program, str(PACKAGE / "__init__.py")]
