"""Read the shards of a corpus, in this process or in several."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from gardenpath.data.shards.shard import Advance, Shard, read_shard, sentences_read
from gardenpath.data.shards.task_pool import available_cores, done_together, may_start_processes

# Corpora below this size are read in one process, because starting others takes time.
_LARGE_BYTES = 8_000_000

_REMEDY = "start again with a smaller paths.preparation_processes: what was read is kept"


def read_shards(
    shards: Sequence[Shard], folder: Path, *, processes: int | None, advance: Advance
) -> None:
    """Read all shards that were not read before; the result does not depend on ``processes``.

    If a shard cannot be read, the error is that of the first such shard.
    """
    waiting = []
    for shard in shards:
        count = sentences_read(shard, folder)
        if count is None:
            waiting.append(shard)
        else:
            advance(count)
    count = min(_process_count(waiting, processes), len(waiting))
    if count > 1:
        task = partial(_read_numbered, waiting, folder)
        failed = done_together(len(waiting), task, processes=count, advance=advance, remedy=_REMEDY)
        waiting = [waiting[number] for number in failed]
    for shard in waiting:
        read_shard(shard, folder, advance)


def _process_count(shards: Sequence[Shard], wanted: int | None) -> int:
    if not may_start_processes():
        return 1
    if wanted is not None:
        return wanted
    is_large = sum(shard.byte_count for shard in shards) >= _LARGE_BYTES
    return available_cores() if is_large else 1


def _read_numbered(shards: Sequence[Shard], folder: Path, number: int, advance: Advance) -> None:
    read_shard(shards[number], folder, advance)
