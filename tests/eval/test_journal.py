"""A journal remembers finished sentences, and nothing that was torn or of another job."""

from __future__ import annotations

import logging
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.eval.journal import Journal, job_key, journal_path


def _filled(path: Path, key: str = "k") -> Journal:
    journal = Journal(path, key)
    journal.add(4, [-1.5, -0.1])
    journal.add(0, [-math.inf, math.nan], "raise search.max_open")
    journal.flush()
    return journal


def test_entries_come_back(tmp_path: Path) -> None:
    path = tmp_path / "out.tsv.partial" / "a.jsonl"
    _filled(path)  # never closed, as if killed
    again = Journal(path, "k")
    assert list(again.done) == [4, 0] and again.done[4] == [-1.5, -0.1]
    assert again.done[0][0] == -math.inf and math.isnan(again.done[0][1])
    assert again.notes == {0: "raise search.max_open"}
    again.add(2, [-3.0])
    again.close()
    assert list(Journal(path, "k").done) == [4, 0, 2]


@given(
    st.dictionaries(
        st.integers(0, 1000), st.lists(st.floats(max_value=0.0, allow_nan=False), max_size=4)
    )
)
def test_numbers_come_back_to_the_last_bit(
    tmp_path_factory: pytest.TempPathFactory, entries: dict[int, list[float]]
) -> None:
    path = tmp_path_factory.mktemp("journal") / "a.jsonl"
    journal = Journal(path, "k")
    for number, log_probs in entries.items():
        journal.add(number, log_probs)
    journal.close()
    assert Journal(path, "k").done == entries


def test_a_journal_cut_anywhere_gives_the_lines_before_the_cut(tmp_path: Path) -> None:
    whole = tmp_path / "whole.jsonl"
    _filled(whole).close()
    content = whole.read_bytes()
    ends = [n + 1 for n, byte in enumerate(content) if byte == ord("\n")]
    for size in range(len(content) + 1):
        path = tmp_path / "cut.jsonl"
        path.write_bytes(content[:size])
        journal = Journal(path, "k")
        lines = sum(end <= size for end in ends)
        assert list(journal.done) == [4, 0][: max(0, lines - 1)]
        journal.add(7, [-1.0])
        journal.close()
        assert list(Journal(path, "k").done) == [*[4, 0][: max(0, lines - 1)], 7]


def test_lines_after_a_damaged_one_are_not_trusted(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    _filled(path).close()
    for damage in (
        b'{"sentence": 9}\n',
        b"[1]\n",
        b"\xff\n",
        b'{"sentence": 9, "log_probs": "x"}\n',
    ):
        first, rest = path.read_bytes().split(b"\n", 1)
        (tmp_path / "b.jsonl").write_bytes(first + b"\n" + damage + rest)
        assert Journal(tmp_path / "b.jsonl", "k").done == {}


def test_a_journal_of_another_job_is_not_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "a.jsonl"
    _filled(path).close()
    with caplog.at_level(logging.WARNING):
        other = Journal(path, "other")
    assert other.done == {} and "unfinished work of other settings" in caplog.text
    assert str(path) in caplog.text
    other.add(1, [-1.0])
    other.close()
    caplog.clear()
    assert list(Journal(path, "other").done) == [1]
    assert caplog.text == ""


def test_removal_takes_the_folder_along_with_the_last_journal(tmp_path: Path) -> None:
    output = tmp_path / "out.tsv"
    paths = [journal_path(output, run) for run in ("runs/a", "runs/b")]
    assert len({*paths}) == 2 and {path.parent.name for path in paths} == {"out.tsv.partial"}
    first, second = (_filled(path) for path in paths)
    first.close(remove=True)
    assert [path.exists() for path in paths] == [False, True]
    second.close()
    assert paths[1].exists()
    second.close(remove=True)
    assert list(tmp_path.iterdir()) == []


def test_without_a_path_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    journal = Journal(None, "k")
    journal.add(1, [-1.0])
    journal.flush()
    journal.close(remove=True)
    assert journal.done == {1: [-1.0]} and list(tmp_path.iterdir()) == []


def test_keys_tell_all_jobs_apart() -> None:
    keys = {
        job_key(["w", "s"], [["a", "b"], ["c"]]),
        job_key(["w", "t"], [["a", "b"], ["c"]]),
        job_key(["ws"], [["a", "b"], ["c"]]),
        job_key(["w", "s"], [["a"], ["b", "c"]]),
        job_key(["w", "s"], [["a b"], ["c"]]),
        job_key(["w", "s"], [["c"], ["a", "b"]]),
    }
    assert len(keys) == 6
    assert job_key(["w"], [("a",)]) == job_key(["w"], [["a"]])
