"""A worker process: computes chunks of sentences, one thread, and puts them into the store.

The parent starts a process that calls :func:`serve`, and writes one chunk per line to its standard
input (``ScoringJob.message``). The worker answers on its standard output with lines about words
completed, chunks stored and errors. All lines are JSON. A worker ends when its standard input is
closed, and so never outlives its parent, even if that is killed.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gardenpath.runs.processes.jobs import Computation
    from gardenpath.runs.run import Run


def serve() -> None:
    """Compute the chunks named on standard input until it is closed."""
    # Ctrl-C reaches all processes of a terminal; the parent decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print must not mix with the answers
    tasks: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(tasks,), daemon=True).start()

    def answer(**content: Any) -> None:
        answers.write(json.dumps(content) + "\n")
        answers.flush()

    import torch

    from gardenpath.safe_text import parse_json

    torch.set_num_threads(1)
    computation: Computation | None = None
    while True:
        message = parse_json(tasks.get())
        try:
            computation = _computed(message, computation, lambda words: answer(words=words))
        except Exception as error:  # the parent computes the chunk itself, and meets it again
            computation = None
            answer(failed=message["number"], error=f"{type(error).__name__}: {error}")
        else:
            answer(done=message["number"])


def _listen(tasks: queue.SimpleQueue[str]) -> None:
    """Receive chunks while others are computed; end the process when the parent is gone."""
    for line in sys.stdin:
        tasks.put(line)
    os._exit(0)  # what is being computed is of no use to anybody; the store is always whole


def _computed(message: dict[str, Any], last: Computation | None, on_words: Any) -> Computation:
    """Compute a chunk, with the model of the last one if it is the same."""
    from gardenpath.errors import RunError
    from gardenpath.runs.adoption.opening import open_run
    from gardenpath.runs.processes.jobs import Computation, key_of, read_search
    from gardenpath.store.surprisal_store import SurprisalStore

    run = open_run(
        message["run"],
        device=message["device"],
        search=read_search(message["search"]),
        store=SurprisalStore(Path(message["store"])),
        boundary=message["boundary"],
    )
    if last is None or not _is_same(last, run, message["k_best"]):
        if key_of(run, message["k_best"]) != message["key"]:
            raise RunError(f"{run.path}: has changed since the evaluation began; evaluate again")
        last = Computation(run, message["k_best"], on_words)
    sentences = [tuple(words) for words in message["sentences"]]
    parsed = {sentences[number] for number in message["parsed"]}
    places = message["matters"]
    last(sentences, parsed, None if places is None else dict(zip(sentences, places, strict=True)))
    return last


def _is_same(last: Computation, run: Run, k_best: int | None) -> bool:
    assert last.run.store is not None and run.store is not None
    before = (last.run.path, last.run.search, last.run.boundary_choice, last.run.store.path)
    now = (run.path, run.search, run.boundary_choice, run.store.path)
    return before == now and last.k_best == k_best
