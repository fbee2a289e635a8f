"""Commands that run at once or are killed again and again: no result is lost or mixed."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from gardenpath.errors import RunError
from gardenpath.store.files import digest, only_writer
from gardenpath.store.run_folder import RunFolder
from gardenpath.store.surprisals import Stored, SurprisalStore, missing_chunks, score_through
from gardenpath.util import Words
from tests import small_runs, toy_runs
from tests.integration.commands import ROOT

LINES = [
    f"the {noun} {verb} ."
    for noun in ("boys", "man", "zebras that knew", "man that the boys knew")
    for verb in ("knew", "hated", "loves", "hated the boys", "hated the man")
]


def begin(script: str, *arguments: str, folder: Path) -> subprocess.Popen[str]:
    """Start a command as a user does."""
    return subprocess.Popen(
        [sys.executable, str(ROOT / script), *arguments],
        cwd=folder,
        env={**os.environ, "COLUMNS": "200"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def surprisal(folder: Path, output: Path, text: Path, model: str) -> list[str]:
    """The command of a job whose store is beside its output; chunks are small."""
    asked = ("task=surprisal", f"input={text}", "task.chunk=4")
    given = toy_runs.arguments(folder, output, *asked, model=model)
    return [*given, f"paths.surprisals={output.parent / 'surprisals.sqlite'}"]


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "sentences.txt"
    path.write_text("\n".join(LINES) + "\n", encoding="utf-8")
    return path


def table(output: Path) -> str:
    return (output / "surprisal.tsv").read_text(encoding="utf-8")


@pytest.fixture
def alone(folder: Path, text: Path, tmp_path: Path) -> dict[str, str]:
    """What jobs write that have a store of their own, and nobody beside them."""
    found = {}
    for model in ("lstm", "rnng"):
        place = tmp_path / f"alone_{model}" / "out"
        toy_runs.evaluate(
            folder, place, "task=surprisal", f"input={text}", "task.chunk=4",
            f"paths.surprisals={place.parent / 'surprisals.sqlite'}", model=model,
        )  # fmt: skip
        found[model] = table(place)
    return found


@pytest.mark.slow
def test_two_jobs_with_one_output_never_mix(
    folder: Path, text: Path, tmp_path: Path, alone: dict[str, str]
) -> None:
    """Two models, one store, one output: the table is that of one job, the other is refused."""
    output = tmp_path / "both" / "out"
    jobs = {
        model: begin("evaluate.py", *surprisal(folder, output, text, model), folder=tmp_path)
        for model in ("lstm", "rnng")
    }
    said = {model: job.communicate(timeout=120)[0] for model, job in jobs.items()}
    codes = {model: job.returncode for model, job in jobs.items()}
    assert table(output) in [alone[model] for model in jobs if codes[model] == 0]
    for model in jobs:
        if codes[model] != 0:  # otherwise one began after the other had ended
            assert codes[model] == 2
            assert "is in use by process" in said[model] and "output=" in said[model]
    assert 0 in codes.values()


@pytest.mark.parametrize(
    ("name", "task"),
    [
        ("toy_english", ("suite=toy_english", "suite.items=1", "task.report=false")),
        ("parses", ("task=parse", "task.sentences=1")),
    ],
)
def test_a_results_folder_has_one_evaluation_at_a_time(
    folder: Path, tmp_path: Path, name: str, task: tuple[str, ...]
) -> None:
    """A second one is refused before it computes anything, and may begin when the first ends."""
    output = tmp_path / "out"
    with only_writer(output / name), pytest.raises(RunError, match=r"is in use by .*output="):
        toy_runs.evaluate(folder, output, *task, model="rnng")
    assert not (output / name).exists()
    toy_runs.evaluate(folder, output, *task, model="rnng")
    assert [one.name for one in output.iterdir() if not one.name.startswith(".")] == [name]


@pytest.mark.slow
def test_jobs_that_are_killed_and_started_again_end_like_one_alone(
    folder: Path, text: Path, tmp_path: Path, alone: dict[str, str]
) -> None:
    """Two at once, on one store; each is killed at random until it is let to its end."""
    generator = random.Random(11)
    outputs = {model: tmp_path / "killed" / model for model in ("lstm", "rnng")}
    commands = {model: surprisal(folder, output, text, model) for model, output in outputs.items()}
    for last in (False, True):
        jobs = [begin("evaluate.py", *given, folder=tmp_path) for given in commands.values()]
        if not last:
            time.sleep(generator.uniform(1.0, 4.0))
            for job in jobs:
                job.kill()
        for job in jobs:
            said = job.communicate(timeout=120)[0]
            assert not last or job.returncode == 0, said
    for model, output in outputs.items():
        assert table(output) == alone[model]


@pytest.mark.slow
def test_of_two_trainings_one_has_the_folder(tmp_path: Path) -> None:
    """The other is refused and told whose it is; what is there is one whole run."""
    small_runs.write_corpus(tmp_path / "corpus")
    given = small_runs.arguments(
        tmp_path, "model=lstm", *small_runs.NEURAL, f"run_dir={tmp_path / 'run'}"
    )
    jobs = [begin("train.py", *given, f"seed={seed}", folder=tmp_path) for seed in (1, 2)]
    said = [job.communicate(timeout=120)[0] for job in jobs]
    assert sorted(job.returncode for job in jobs) == [0, 2]
    winner = next(number for number, job in enumerate(jobs) if job.returncode == 0)
    refused = said[1 - winner]
    assert "is in use by process" in refused or "contains a" in refused
    run = RunFolder(tmp_path / "run")
    run.verify()
    assert run.config()["seed"] == winner + 1


def test_workers_end_with_their_parent(folder: Path, text: Path, tmp_path: Path) -> None:
    """Neither kill -9 nor SIGTERM of a command leaves a process behind."""
    program = (
        "import time\n"
        "from gardenpath.workers import WorkerPool\n"
        "with WorkerPool(2, print) as pool:\n"
        "    print(*[worker.pid for worker in pool.workers], flush=True)\n"
        "    time.sleep(100)\n"
    )
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
        parent = subprocess.Popen(
            [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            text=True,
        )  # fmt: skip
        assert parent.stdout is not None
        pids = [int(pid) for pid in parent.stdout.readline().split()]
        assert len(pids) == 2
        parent.send_signal(number)
        parent.wait(timeout=60)
        parent.stdout.close()
        deadline = time.monotonic() + 60
        while any(map(_is_alive, pids)) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not any(map(_is_alive, pids)), number


def _is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


# ----------------------------------------------------------------------------
# Jobs that score through the store: killed and started again, or two at once, as if alone.


SPAWN = multiprocessing.get_context("spawn")
CHUNK = 16
SENTENCES = [(f"the {number % 7}", "cat", str(number * 7919 % 400)) for number in range(400)]


def compute(sentences: Sequence[Words]) -> list[Stored]:
    """Numbers that depend on what is computed together, as those of batched networks do."""
    company = digest(repr(list(sentences)))
    return [
        Stored([-int(digest(f"{company} {words} {place}")[:8], 16) / 2**32 for place in range(4)])
        for words in sentences
    ]


def slowly(sentences: Sequence[Words], log: Path) -> list[Stored]:
    """The same, with a line in a file for each chunk."""
    time.sleep(0.01)
    with log.open("a", encoding="utf-8") as file:
        file.write(f"{sentences[0]}\n")
    return compute(sentences)


def job(path: Path, log: Path, sentences: Sequence[Words]) -> None:
    store = SurprisalStore(path)
    score_through(store, "model", sentences, lambda chunk: slowly(chunk, log), chunk=CHUNK)


def test_a_job_that_is_killed_again_and_again_equals_one_run_alone(tmp_path: Path) -> None:
    path, log = tmp_path / "s.sqlite", tmp_path / "log"
    alone = score_through(None, "model", SENTENCES, compute, chunk=CHUNK)
    generator = random.Random(3)
    kills = 0
    while True:
        process = SPAWN.Process(target=job, args=(path, log, SENTENCES))
        process.start()
        before = _lines(log)
        while process.is_alive() and _lines(log) == before:
            time.sleep(0.002)
        time.sleep(generator.uniform(0.0, 0.15))
        if kills == 6 or not process.is_alive():
            process.join(timeout=60)
            break
        process.kill()
        process.join(timeout=60)
        kills += 1
    assert process.exitcode == 0 and kills >= 2
    found = score_through(SurprisalStore(path), "model", SENTENCES, _never, chunk=CHUNK)
    assert found == alone
    chunks = len(alone) / CHUNK
    assert chunks <= _lines(log) <= chunks + kills, "a kill loses one chunk at most"


def test_two_jobs_at_once_equal_one_run_alone(tmp_path: Path) -> None:
    """Each has sentences that the other has too, in another order and in other chunks."""
    path = tmp_path / "s.sqlite"
    parts = [SENTENCES[:300], SENTENCES[100:][::-1]]
    processes = [
        SPAWN.Process(target=pure_job, args=(path, tmp_path / f"out{number}", part))
        for number, part in enumerate(parts)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(timeout=60)
    assert [process.exitcode for process in processes] == [0, 0]
    for number, part in enumerate(parts):
        expected = {words: pure([words])[0].log_probs for words in dict.fromkeys(part)}
        said = (tmp_path / f"out{number}").read_text(encoding="utf-8")
        assert said == repr(expected)


def test_chunks_stay_the_same_if_any_of_them_are_stored(tmp_path: Path) -> None:
    """Several processes store chunks in any order, and may be killed: the rest is not regrouped."""
    alone = score_through(None, "model", SENTENCES, compute, chunk=CHUNK)
    asked = list(dict.fromkeys(SENTENCES))
    chunks = missing_chunks({}, asked, chunk=CHUNK)
    store = SurprisalStore(tmp_path / "s.sqlite")
    for members in random.Random(4).sample(chunks, len(chunks) // 2):
        store.put("model", dict(zip(members, compute(members), strict=True)))
    left = missing_chunks(store.get("model", asked), asked, chunk=CHUNK)
    assert left == [members for members in chunks if members in left] and len(left) < len(chunks)
    assert score_through(store, "model", SENTENCES, compute, chunk=CHUNK) == alone


def test_a_store_that_is_deleted_meanwhile_costs_no_result(tmp_path: Path) -> None:
    store = SurprisalStore(tmp_path / "s.sqlite")
    alone = score_through(None, "model", SENTENCES, compute, chunk=CHUNK)

    class Deleted(SurprisalStore):
        def put(self, model_key: str, scored: Mapping[Words, Stored]) -> None:
            super().put(model_key, scored)
            self.path.unlink()

    assert score_through(Deleted(store.path), "model", SENTENCES, compute, chunk=CHUNK) == alone


def pure(sentences: Sequence[Words]) -> list[Stored]:
    """Numbers that depend on the sentence alone."""
    return [compute([words])[0] for words in sentences]


def pure_job(path: Path, output: Path, sentences: Sequence[Words]) -> None:
    found = score_through(SurprisalStore(path), "model", sentences, pure, chunk=CHUNK)
    values = {words: stored.log_probs for words, stored in found.items()}
    output.write_text(repr(values), encoding="utf-8")


def _never(_sentences: Sequence[Words]) -> list[Stored]:
    raise AssertionError("computed again")


def _lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines()) if path.exists() else 0
