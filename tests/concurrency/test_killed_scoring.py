"""Jobs that score through the store: killed and started again, or two at once, as if alone."""

from __future__ import annotations

import multiprocessing
import random
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from gardenpath.store.files import digest
from gardenpath.store.surprisals import Stored, SurprisalStore, missing_chunks, score_through
from gardenpath.util import Words

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
