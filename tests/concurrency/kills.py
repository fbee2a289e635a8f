"""Processes that are killed: at a given step of their work on files, or after some time."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

# What Python reports before it touches the file system.
_STEPS = {
    "open", "os.chmod", "os.link", "os.listdir", "os.mkdir", "os.remove", "os.rename", "os.rmdir",
    "os.scandir", "os.symlink", "os.truncate", "shutil.rmtree", "tempfile.mkdtemp",
    "tempfile.mkstemp",
}  # fmt: skip


def killed_before_step(step: int, act: Callable[[], None], root: Path) -> bool:
    """Run ``act`` in a process that is killed before its given step; False if it came to its end.

    Steps are those on files below ``root``. Nothing of the dying process takes part, not even its
    clean-up.
    """
    pid = os.fork()
    if pid == 0:
        die_at(step, str(root))
        try:
            act()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.WEXITSTATUS(status) == 0, "the process failed"
    return False


def every_step(
    act: Callable[[], None], *, prepare: Callable[[], None], root: Path
) -> Iterator[int]:
    """Kill ``act`` before its first step, then before its second, and so on to its end.

    Yields after each kill, and once more when ``act`` came to its end. Each time ``prepare`` is
    called first.
    """
    step = 0
    is_killed = True
    while is_killed:
        prepare()
        step += 1
        is_killed = killed_before_step(step, act, root)
        yield step


def die_at(step: int, root: str) -> None:
    """Let this process be killed before its given step on files below ``root``."""
    left = step

    def count(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal left
        if event == "ctypes.dlsym" or (event in _STEPS and str(arguments[0]).startswith(root)):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)
