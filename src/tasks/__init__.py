"""The tasks of evaluate.py: each prints and writes what ``runs`` and ``eval`` compute.

:mod:`gardenpath.registry` lists them; :mod:`gardenpath.cli` performs one with :func:`run_task`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gardenpath import registry
from gardenpath.console import stop_on_signals
from gardenpath.settings.evaluate import EvaluateSettings
from gardenpath.store.files import only_writer, require_writable

_Perform = Callable[[EvaluateSettings, Any], None]
_PERFORMED = registry.Registered[_Perform](
    {name: function for name, (_, function) in registry.TASKS.items()}
)
# Their output may be a file, or they write none; they check it themselves.
_CHECK_THEMSELVES = ("surprisal", "suites", "new_suite")


def run_task(settings: EvaluateSettings) -> None:
    """Run the task named in the settings; SIGINT and SIGTERM stop it without loss."""
    with stop_on_signals():
        if settings.task.name not in _CHECK_THEMSELVES:
            require_writable(Path(settings.output))  # before hours of work
        _PERFORMED[settings.task.name](settings, settings.task)


def sole_writer_of(place: Callable[[EvaluateSettings], Path]) -> Callable[[_Perform], _Perform]:
    """Let a task wait, or refuse, while another process writes the same results."""

    def decorate(perform: _Perform) -> _Perform:
        @functools.wraps(perform)
        def alone(settings: EvaluateSettings, task: Any) -> None:
            with only_writer(place(settings)):
                perform(settings, task)

        return alone

    return decorate
