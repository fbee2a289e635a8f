"""``task=surprisal``: one long table, whole or not at all, and jobs that go on where they were."""

from __future__ import annotations

import contextlib
import io
import math
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from gardenpath.data.words.vocabulary import END
from gardenpath.errors import InputError
from gardenpath.eval.search.result import SearchFailure
from gardenpath.eval.surprisal.surprisal_rows import SurprisalRow
from gardenpath.eval.surprisal.surprisal_table import read_surprisals, side_car
from gardenpath.models.saved_model import load_vocabulary
from gardenpath.runs.run import Scorer, make_scorer
from gardenpath.settings.compose import Settings
from gardenpath.tasks import surprisal
from tests.toy_runs import copied, run_of, settings

SENTENCES = (
    "the boys knew .",
    "the zebras that the boys knew hated .",
    "the boys that knew hated the man .",
    "Wug loves the boys .",
)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "sentences.txt"
    path.write_text("\n".join(SENTENCES) + "\n", encoding="utf-8")
    return path


def _settings(folder: Path, text: Path | str, *overrides: str, model: str = "") -> Settings:
    output = text.parent / "out" if isinstance(text, Path) else Path("out")
    return settings(folder, output, "task=surprisal", f"input={text}", *overrides, model=model)


def test_one_long_table_of_several_runs(folder: Path, text: Path) -> None:
    chosen = _settings(folder, text)
    surprisal.run(chosen)
    rows, header = read_surprisals(text.parent / "out" / "surprisal.tsv")
    words = [(*sentence.split(), END) for sentence in SENTENCES]
    per_run = sum(map(len, words))
    assert len(rows) == 4 * per_run
    for number, model in enumerate(("lstm", "ngram", "plm", "rnng")):
        found = rows[number * per_run : (number + 1) * per_run]
        assert {row.run for row in found} == {str(run_of(folder, model).path)}
        assert [row.word for row in found] == [word for one in words for word in one]
        scores = make_scorer(run_of(folder, model), chosen).word_log_probs(
            [sentence.split() for sentence in SENTENCES]
        )
        bits = [row.surprisal_bits for row in found]
        assert bits == pytest.approx(np.concatenate(scores) / -math.log(2), abs=1e-4)
    assert [run.model for run in header.runs] == ["lstm", "ngram", "plm", "rnng"]
    assert [run.search for run in header.runs] == ["none", "none", "word_sync", "word_sync"]
    assert header.runs[0].settings == {}
    assert header.runs[2].settings["action_beam"] == 10
    assert header.runs[2].settings["marginal"] == "survivors"
    assert (header.unit, header.end_of_sentence) == ("bits", "row")
    vocabulary = load_vocabulary(run_of(folder, "lstm")).content_hash
    assert {run.vocabulary for run in header.runs} == {vocabulary}
    assert not (text.parent / "out" / "surprisal.tsv.partial").exists()


def test_unknown_words_are_shown_as_their_classes(folder: Path, text: Path) -> None:
    surprisal.run(_settings(folder, text, model="ngram"))
    rows, _ = read_surprisals(text.parent / "out" / "surprisal.tsv")
    unseen = {row.word: row.seen_as for row in rows if not row.seen}
    assert set(unseen) == {"zebras", "Wug"}
    assert all(name.startswith("<unk") for name in unseen.values())
    assert all(row.seen_as == row.word for row in rows if row.seen)


@pytest.mark.parametrize("extension", ["tsv", "jsonl", "parquet"])
def test_formats_by_extension(folder: Path, text: Path, extension: str) -> None:
    path = text.parent / f"table.{extension}"
    surprisal.run(_settings(folder, text, f"task.file={path}", model="ngram"))
    rows, header = read_surprisals(path)
    assert len(rows) == sum(len(s.split()) + 1 for s in SENTENCES)
    assert header.runs[0].model == "ngram"
    assert side_car(path).exists() is (extension != "tsv")
    assert not (text.parent / "out").exists()


def test_an_unknown_extension_is_an_error_before_anything_is_done(folder: Path, text: Path) -> None:
    path = text.parent / "table.xlsx"
    with pytest.raises(InputError, match=r"choose one of \.tsv, \.jsonl, \.parquet"):
        surprisal.run(_settings(folder, text, f"task.file={path}"))
    assert [one.name for one in text.parent.iterdir()] == [text.name]


def test_ends_may_be_left_out(folder: Path, text: Path) -> None:
    surprisal.run(_settings(folder, text, "task.end=false", model="ngram"))
    rows, header = read_surprisals(text.parent / "out" / "surprisal.tsv")
    assert len(rows) == sum(len(s.split()) for s in SENTENCES)
    assert END not in {row.word for row in rows} and header.end_of_sentence == "none"


def test_standard_input_serves_all_runs(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    piped = io.TextIOWrapper(io.BytesIO("\n".join(SENTENCES).encode()))
    monkeypatch.setattr(sys, "stdin", piped)
    surprisal.run(settings(folder, tmp_path, "task=surprisal", "input=-"))
    rows, header = read_surprisals(tmp_path / "surprisal.tsv")
    assert len(header.runs) == 4
    assert {row.sentence_id for row in rows} == {1, 2, 3, 4}


def test_trees_are_read_as_their_words(folder: Path, tmp_path: Path) -> None:
    plain, trees = tmp_path / "plain.txt", tmp_path / "trees.txt"
    plain.write_text("the boys knew .\n", encoding="utf-8")
    trees.write_text(
        "(S (NP-SBJ (DT the) (NNS boys))\n  (VP (VBD knew) (NP (-NONE- *T*)))\n  (. .))\n",
        encoding="utf-8",
    )
    tables = []
    for path in (plain, trees):
        output = tmp_path / f"{path.stem}.tsv"
        surprisal.run(_settings(folder, path, f"task.file={output}", model="lstm"))
        tables.append(read_surprisals(output)[0])
    assert tables[0] == tables[1]


def test_each_run_reads_the_input_as_its_corpus_was_cleaned(folder: Path, tmp_path: Path) -> None:
    text = tmp_path / "in.txt"
    text.write_text("The boys knew .\n", encoding="utf-8")
    copied(run_of(folder, "ngram"), tmp_path / "runs" / "a")
    copied(run_of(folder, "ngram"), tmp_path / "runs" / "b", lowercase=True)
    surprisal.run(_settings(folder, text, f"run={tmp_path / 'runs'}"))
    rows = _rows(tmp_path / "out" / "surprisal.tsv")
    first = {Path(row.run).name: row for row in rows if row.word_id == 1}
    assert {name: (row.word, row.seen) for name, row in first.items()} == {
        "a": ("The", False),
        "b": ("the", True),
    }
    # From the second run alone comes what came from both.
    surprisal.run(_settings(folder, text, f"run={tmp_path / 'runs' / 'b'}"))
    alone = _rows(tmp_path / "out" / "surprisal.tsv")
    assert alone == [row for row in rows if Path(row.run).name == "b"]


def test_runs_whose_words_differ_are_refused(folder: Path, tmp_path: Path) -> None:
    text = tmp_path / "in.txt"
    text.write_text("(S (NP (DT the) (NNS boys)) (VP (VBD knew) (-NONE- *T*)))\n", encoding="utf-8")
    copied(run_of(folder, "ngram"), tmp_path / "runs" / "a")
    copied(run_of(folder, "ngram"), tmp_path / "runs" / "b", drop_traces=False)
    with pytest.raises(InputError, match=r"in\.txt:1: .*/a and .*/b .*: 'the boys knew' and"):
        surprisal.run(_settings(folder, text, f"run={tmp_path / 'runs'}"))
    assert not (tmp_path / "out").exists()


def test_a_missing_input_file_is_named(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent\.txt"):
        surprisal.run(_settings(folder, tmp_path / "absent.txt"))
    assert list(tmp_path.iterdir()) == []


class _Killed(BaseException):
    """As if the process were gone."""


class _Scorer:
    """A scorer that is killed after some calls, and counts the sentences that it scored."""

    def __init__(self, scorer: Scorer, *, calls: int) -> None:
        self._scorer = scorer
        self._calls = calls
        self.sentences: list[str] = []

    def word_log_probs(self, sentences: Sequence[Sequence[str]]) -> list[np.ndarray]:
        if self._calls == 0:
            raise _Killed
        self._calls -= 1
        self.sentences += [" ".join(words) for words in sentences]
        return self._scorer.word_log_probs(sentences)


class _Patched:
    """Puts counting scorers into the task, one for each run."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, calls: Sequence[int]) -> None:
        self.scorers: list[_Scorer] = []
        left = iter(calls)

        def make(*arguments: object, **options: object) -> _Scorer:
            scorer = make_scorer(*arguments, **options)  # type: ignore[arg-type]
            self.scorers.append(_Scorer(scorer, calls=next(left)))
            return self.scorers[-1]

        monkeypatch.setattr(surprisal, "make_scorer", make)

    @property
    def scored(self) -> list[int]:
        """How many sentences each run scored."""
        return [len(scorer.sentences) for scorer in self.scorers]


def _rows(path: Path) -> list[SurprisalRow]:
    return read_surprisals(path)[0]


def test_a_killed_job_goes_on_where_it_was(
    folder: Path, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two runs, a sentence at a time; killed in the middle of the second run."""
    whole, table = text.parent / "whole.tsv", text.parent / "table.tsv"
    sequential = [f"run={folder / 'runs'}", "task.chunk=1"]
    only = _settings(folder, text, *sequential, f"task.file={whole}")
    monkeypatch.setattr(
        surprisal, "finished_runs", lambda _: [run_of(folder, "lstm"), run_of(folder, "ngram")]
    )
    surprisal.run(only)
    chosen = _settings(folder, text, *sequential, f"task.file={table}")
    with monkeypatch.context() as patch:
        before = _Patched(patch, calls=[4, 1])
        with pytest.raises(_Killed):
            surprisal.run(chosen)
    assert before.scored == [4, 1]
    assert not table.exists() and (text.parent / "table.tsv.partial").is_dir()
    with monkeypatch.context() as patch:
        after = _Patched(patch, calls=[9, 9])
        surprisal.run(chosen)
    assert after.scored == [0, 3]
    assert not set(after.scorers[1].sentences) & set(before.scorers[1].sentences)
    assert table.read_text(encoding="utf-8") == whole.read_text(encoding="utf-8")
    assert sorted(p.name for p in text.parent.iterdir()) == [text.name, "table.tsv", "whole.tsv"]


def test_what_was_done_for_other_sentences_or_settings_is_not_used(
    folder: Path, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def scored(*overrides: str, calls: int) -> list[int]:
        with monkeypatch.context() as patch:
            patched = _Patched(patch, calls=[calls])
            with contextlib.suppress(_Killed):
                surprisal.run(_settings(folder, text, "task.chunk=1", *overrides, model="rnng"))
        return patched.scored

    assert scored(calls=2) == [2]
    assert scored("search.word_beam=2", calls=1) == [1]
    text.write_text("\n".join(SENTENCES[1:]), encoding="utf-8")
    assert scored("search.word_beam=2", calls=9) == [3]


def test_an_old_table_stays_until_the_new_one_is_whole(
    folder: Path, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = _settings(folder, text, "task.chunk=1", model="ngram")
    path = text.parent / "out" / "surprisal.tsv"
    path.parent.mkdir()
    path.write_text("old", encoding="utf-8")
    with monkeypatch.context() as patch, pytest.raises(_Killed):
        _Patched(patch, calls=[1])
        surprisal.run(chosen)
    assert path.read_text(encoding="utf-8") == "old"
    surprisal.run(chosen)
    assert len(_rows(path)) == sum(len(s.split()) + 1 for s in SENTENCES)


class _FailingScorer:
    """Finds no hypothesis for sentences with a certain word."""

    failures: dict[int, SearchFailure]

    def word_log_probs(self, sentences: Sequence[Sequence[str]]) -> list[np.ndarray]:
        self.failures = {
            number: SearchFailure(token=1, hit_open=True, hit_consecutive=False)
            for number, words in enumerate(sentences)
            if "zebras" in words
        }
        return [
            np.array([-1.0, *[math.nan if number in self.failures else -1.0] * len(words)])
            for number, words in enumerate(sentences)
        ]


def test_failed_sentences_are_named_and_the_rest_goes_on(
    folder: Path,
    text: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(surprisal, "make_scorer", lambda *_: _FailingScorer())
    surprisal.run(_settings(folder, text, model="rnng"))
    rows, header = read_surprisals(text.parent / "out" / "surprisal.tsv")
    undefined = {row.sentence_id for row in rows if math.isnan(row.surprisal_bits)}
    assert undefined == {2}
    (failure,) = header.runs[0].failures
    assert (failure.place, failure.word_id) == (f"{text}:2", 2)
    shown = capsys.readouterr().out.replace("\n", "")
    assert f"{text.name}:2: no hypothesis survived; raise search.max_open" in shown
