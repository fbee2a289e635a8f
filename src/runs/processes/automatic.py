"""How many processes score sentences if nobody says: ``task.processes=auto``.

The steps of a search are too small to be divided among threads. For enough sentences, one-thread
processes that take the place of the threads are faster. They are started where this is safe to say:
for searches on a CPU, with several chunks for each process, if memory suffices. All else is left to
the threads of this process, as with null.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from gardenpath.errors import GardenpathError
from gardenpath.runs.processes.jobs import ScoringJob

# With fewer chunks for each process, some would wait for the last one.
_CHUNKS_PER_PROCESS = 2

# What a process needs beside its search: torch, the model and its copy for the search.
_BYTES_PER_PROCESS = 1e9


def searched_here(job: ScoringJob) -> bool:
    """Whether sentences are searched on the CPU of this machine."""
    try:
        return job.run.is_syntactic and job.run.device.type == "cpu"
    except GardenpathError:
        return False  # the caller meets it again


def best_count(jobs: Sequence[ScoringJob], chunks: int) -> int:
    """Return the number of processes for a number of chunks; below two, none is worth its start.

    It is at most the number of threads that this process would use, which ``OMP_NUM_THREADS``
    limits, so that jobs of a sweep that share a machine do not start more processes than cores.
    """
    import torch

    memory_gb = max((job.run.search.memory_gb for job in jobs), default=0.0)
    fitting = int(free_bytes() // (_BYTES_PER_PROCESS + memory_gb * 1e9))
    return min(torch.get_num_threads(), chunks // _CHUNKS_PER_PROCESS, fitting)


def free_bytes() -> float:
    """Return the memory that new processes can use: of the machine, or of the container if less."""
    return min([_free_on_machine(), *_free_in_container()])


def _free_on_machine() -> float:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        # Without Linux's count of what is free, half of all memory counts as free.
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2
    kilobytes = {name: rest.split()[0] for name, _, rest in (one.partition(":") for one in lines)}
    return float(kilobytes["MemAvailable"]) * 1024


def _free_in_container(folder: Path = Path("/sys/fs/cgroup")) -> Iterator[float]:
    """Yield the limit of the container less what is used, if there is one."""
    try:
        most = (folder / "memory.max").read_text(encoding="ascii").strip()
        used = (folder / "memory.current").read_text(encoding="ascii").strip()
    except OSError:
        return
    if most != "max":
        yield max(0.0, float(most) - float(used))
