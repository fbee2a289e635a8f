"""``task=export``: what is written reads back as the same corpus."""

from __future__ import annotations

from pathlib import Path

import pytest

from gardenpath.data.corpus import DataSettings
from gardenpath.data.sentence import SPLITS, Sentence
from gardenpath.errors import ConfigError, InputError, RunError
from gardenpath.settings.compose import load_settings
from gardenpath.tasks import run_task

TOY = ("data=toy_english", *(f"data.reader.{split}=25" for split in SPLITS))


def _exported(folder: Path, *arguments: str) -> DataSettings:
    settings = load_settings("evaluate", ["task=export", f"output={folder}", *arguments])
    run_task(settings)
    assert settings.data is not None
    data: DataSettings = settings.data
    return data


def _read(root: Path, *arguments: str) -> DataSettings:
    data: DataSettings = load_settings("train", [f"data.root={root}", *arguments]).data
    return data


def _sentences(data: DataSettings, split: str) -> list[Sentence]:
    return list(data.preparation().sentences(split))


@pytest.mark.parametrize("keep_pos", [False, True])
def test_trees_read_back(
    tmp_path: Path, keep_pos: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    pos = f"data.cleaning.keep_pos={str(keep_pos).lower()}"
    data = _exported(tmp_path, *TOY, pos)
    words = " ".join(capsys.readouterr().out.split()).split()
    again = [one for one in words if one.startswith("data")]
    read = _read(tmp_path / "toy_english", *again, pos)
    for split in SPLITS:
        before, after = _sentences(data, split), _sentences(read, split)
        assert len(before) == 25
        assert [one.tree for one in after] == [one.tree for one in before]
        assert [one.words for one in after] == [one.words for one in before]


@pytest.mark.slow
def test_the_penn_treebank_sample_reads_back(tmp_path: Path, nltk_root: str) -> None:
    """Brackets in words and odd punctuation survive."""
    data = _exported(tmp_path, "data=ptb_sample", f"data.root={nltk_root}")
    absent = "data.cleaning.pos_in_source=absent"
    read = _read(tmp_path / "ptb_sample", "data=brackets", absent)
    for split in ("valid", "test"):
        before, after = _sentences(data, split), _sentences(read, split)
        assert [one.tree for one in after] == [one.tree for one in before]
        assert any("(" in one.words for one in before) or split == "test"


def test_text_reads_back(tmp_path: Path) -> None:
    data = _exported(tmp_path, *TOY, "task.form=text", "task.splits=[valid]")
    assert not (tmp_path / "toy_english" / "train.txt").exists()
    (tmp_path / "toy_english" / "train.txt").write_text("a b\n")
    (tmp_path / "toy_english" / "test.txt").write_text("a b\n")
    read = _read(tmp_path / "toy_english", "data=text")
    words = [one.words for one in _sentences(read, "valid")]
    assert words == [one.words for one in _sentences(data, "valid")]


def test_a_second_export_replaces_the_first_but_no_other_files(tmp_path: Path) -> None:
    _exported(tmp_path, *TOY)
    _exported(tmp_path, *TOY, "data.cleaning.lowercase=true")
    text = (tmp_path / "toy_english" / "train.txt").read_text()
    assert text.splitlines() and "The " not in text
    (tmp_path / "toy_english" / "mine.txt").write_text("x")
    with pytest.raises(RunError, match=r"mine\.txt"):
        _exported(tmp_path, *TOY)
    assert (tmp_path / "toy_english" / "train.txt").read_text() == text


def test_text_has_no_trees_to_write(tmp_path: Path) -> None:
    for split in SPLITS:
        (tmp_path / f"{split}.txt").write_text("a b\n")
    with pytest.raises(InputError, match=r"train.txt:1: has no tree .*task.form=text"):
        _exported(tmp_path / "out", "data=text", f"data.root={tmp_path}")
    assert not (tmp_path / "out" / "text").exists()


def test_a_corpus_must_be_named() -> None:
    with pytest.raises(ConfigError, match="data is missing"):
        load_settings("evaluate", ["task=export"])
