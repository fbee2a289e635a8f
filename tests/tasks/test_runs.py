"""``task=merge``: one file of surprisals from several, each entry checked."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from gardenpath.errors import InputError
from gardenpath.settings.evaluate import EvaluateSettings
from gardenpath.settings.tasks import MergeTask
from gardenpath.settings.train import Paths
from gardenpath.store.surprisals import Stored, SurprisalStore
from gardenpath.tasks import run_task
from gardenpath.util import Words

SENTENCES: list[Words] = [("the", str(number)) for number in range(1200)]


def scores(value: float) -> Stored:
    return Stored([-1.0, -2.0, -value])


def merge(target: Path, *sources: Path) -> None:
    task = MergeTask(stores=[str(one) for one in sources])
    run_task(EvaluateSettings(task=task, run="runs", paths=Paths(surprisals=str(target))))


def test_all_entries_are_in_the_file(tmp_path: Path) -> None:
    one, other, target = (SurprisalStore(tmp_path / f"{name}.sqlite") for name in "abc")
    one.put("model", {words: scores(1) for words in SENTENCES[:700]})
    one.put("another", {SENTENCES[0]: Stored([-1.0, -2.0, -3.0], remedy="wider")})
    other.put("model", {words: scores(2) for words in SENTENCES[500:]})
    target.put("model", {SENTENCES[0]: scores(7)})
    merge(target.path, one.path, other.path)
    found = target.get("model", SENTENCES)
    expected = {words: scores(1) for words in SENTENCES[:700]}
    expected |= {words: scores(2) for words in SENTENCES[700:]}
    assert found == expected | {SENTENCES[0]: scores(7)}, "the first entry is kept"
    assert target.get("another", SENTENCES)[SENTENCES[0]].remedy == "wider"


def test_what_is_no_whole_store_is_refused(tmp_path: Path) -> None:
    one, target = (SurprisalStore(tmp_path / f"{name}.sqlite") for name in "ab")
    with pytest.raises(InputError, match=r"a\.sqlite: does not exist"):
        merge(target.path, one.path)
    one.put("model", {words: scores(1) for words in SENTENCES[:3]})
    with pytest.raises(InputError, match="is the file to merge into"):
        merge(one.path, one.path)
    with closing(sqlite3.connect(one.path, isolation_level=None)) as connection:
        connection.execute("UPDATE surprisals SET remedy = 'other' WHERE sentence LIKE '%1%'")
    with pytest.raises(InputError, match=r"a\.sqlite: is damaged"):
        merge(target.path, one.path)
    assert target.get("model", SENTENCES) == {}
