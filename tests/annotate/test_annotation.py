"""Raw text to trees: what is written, the same for any number of processes, killed or not."""

from __future__ import annotations

import copy
import functools
import json
import os
import signal
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import yaml

from gardenpath.annotate import annotation as annotation_work
from gardenpath.annotate.annotation import read_checked, write_checked
from gardenpath.data.readers import base as pieces
from gardenpath.data.readers.files import BracketFiles, TextFiles
from gardenpath.data.trees.tree import parse_tree
from gardenpath.errors import ConfigError, GardenpathError, InputError, RunError
from gardenpath.settings.compose import ConfigSource, composed, load_settings, plain_config, typed
from gardenpath.settings.evaluate import EvaluateSettings
from gardenpath.store.manifest import read_results_manifest
from gardenpath.tasks import run_task
from tests.concurrency.kills import killed_before_step
from tests.toy_runs import run_of

ENGLISH = """\
The dog sees the cat. The cat sleeps! The dog sees the cat.

"The king sleeps." A queen (an old one) sees the dog.
"""
NEWS = """\
<DOC id="A.1">
<HEADLINE>
Not this.
</HEADLINE>
<TEXT>
<P>
A dog &amp; a cat
sleep. The cat sleeps!
</P>
<P>
{long}
</P>
</TEXT>
</DOC>
"""


# Set in the environment of workers that are killed when they parse.
KILLED = "GARDENPATH_TEST_KILLED_PARSER"


def write_raw(folder: Path, *, copies: int = 1) -> Path:
    """A folder with plain text and news; with copies, of many different sentences."""
    folder.mkdir(parents=True)
    more = "".join(f"The dog number {number} sees a cat.\n" for number in range(1, copies))
    (folder / "a.txt").write_text(ENGLISH + more, encoding="utf-8")
    long = " ".join(["the old dog"] * 40) + " sleeps."
    (folder / "b.sgm").write_text(NEWS.format(long=long), encoding="utf-8")
    return folder


def annotate(raw: Path, output: Path, *arguments: str) -> None:
    """Do the task as evaluate.py does."""
    content = copy.deepcopy(_composed())
    for argument in [f"input={raw}", f"output={output}", *arguments]:
        written, _, value = argument.partition("=")
        *groups, last = EvaluateSettings.SHORT.get(written, written).split(".")
        part = functools.reduce(lambda outer, key: outer[key], groups, content)
        assert last in part, f"{written} is not a setting"
        part[last] = yaml.safe_load(value)
    run_task(typed("evaluate", content))


@functools.cache
def _composed() -> dict[str, Any]:
    """The settings of the task, which take long to compose."""
    return plain_config(composed(ConfigSource("evaluate"), ["task=annotate"]))


def content(folder: Path) -> dict[str, bytes]:
    """All files of the result, except the manifest, which contains the time."""
    return {
        path.name: path.read_bytes()
        for path in sorted(folder.iterdir())
        if path.name != "manifest.json"
    }


def install(monkeypatch: pytest.MonkeyPatch, name: str, **content: Any) -> None:
    """Let a package seem to be installed."""
    made = ModuleType(name)
    made.__spec__ = ModuleSpec(name, None)
    for key, value in content.items():
        setattr(made, key, value)
    monkeypatch.setitem(sys.modules, name, made)


@dataclass
class InputSentence:
    """As benepar's."""

    words: list[str]


class NestedTree:
    """A tree that can write itself, as NLTK's."""

    def __init__(self, words: list[str]) -> None:
        self._words = words

    def pformat(self, margin: int) -> str:
        escaped = [word.replace("(", "-LRB-").replace(")", "-RRB-") for word in self._words]
        leaves = "\n   ".join(f"(X {word})" for word in escaped)
        return f"(TOP\n  (S\n   {leaves}))"


class Berkeley:
    """As benepar's parser: one flat tree per sentence."""

    def __init__(self, model: str) -> None:
        if model != "benepar_en3":
            raise LookupError(model)

    def parse_sents(self, sentences: Iterable[InputSentence]) -> Iterator[NestedTree]:
        if KILLED in os.environ:
            os.kill(os.getpid(), signal.SIGKILL)
        return (NestedTree(one.words) for one in sentences)


def install_benepar(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """The Berkeley Neural Parser, with its English model only; worker processes have it too."""
    install(monkeypatch, "benepar", Parser=Berkeley, InputSentence=InputSentence)
    packages = folder / "packages"
    packages.mkdir()
    names = "Berkeley as Parser, InputSentence"
    (packages / "benepar.py").write_text(f"from {__name__} import {names}\n", encoding="utf-8")
    monkeypatch.syspath_prepend(packages)


def install_stanza(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Stanza with its English model; returns the settings with which it was loaded."""
    loaded: list[dict[str, Any]] = []

    def pipeline(language: str, **settings: Any) -> Any:
        loaded.append(settings)
        if language != "en":
            raise FileNotFoundError("resources.json")
        return lambda sentences: SimpleNamespace(
            sentences=[_constituents(one) for one in sentences]
        )

    install(monkeypatch, "stanza", Pipeline=pipeline)
    return loaded


def _constituents(words: list[str]) -> Any:
    leaves = " ".join(f"(X w{place})" for place, _ in enumerate(words))
    return SimpleNamespace(constituency=f"(ROOT (S {leaves}))")


# ----------------------------------------------------------------------------
# Raw text to trees: what is written, the same for any number of processes, killed or not.


QUEEN = "A queen ( an old one ) sees the dog ."
PLAIN = ("task.language=en", "parser=none", "task.processes=1")


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    return write_raw(tmp_path / "raw")


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


# ---- What is written


def test_text_without_trees(raw: Path, tmp_path: Path) -> None:
    annotate(raw, tmp_path / "out", *PLAIN)
    out = tmp_path / "out"
    assert lines(out / "train.txt") == [
        "The dog sees the cat .",
        "The cat sleeps !",
        '" The king sleeps . "',
        QUEEN,
        "A dog & a cat sleep .",
    ]
    assert [one.split("\t")[:3] for one in lines(out / "skipped.tsv")] == [
        ["file", "line", "reason"],
        [str(raw / "a.txt"), "1", "duplicate"],
        [str(raw / "b.sgm"), "8", "duplicate"],
        [str(raw / "b.sgm"), "11", "too long"],
    ]
    assert json.loads((out / "summary.json").read_text()) == {
        "files": 2,
        "sentences": {"train": 5},
        "words": 34,
        "skipped": {"duplicate": 2, "too long": 1},
    }
    read = TextFiles(root=str(out)).read("train")
    assert [" ".join(one.words) for one in read] == lines(out / "train.txt")


def test_the_manifest_says_how(raw: Path, tmp_path: Path) -> None:
    annotate(raw, tmp_path / "out", *PLAIN, "segmenter=nltk")
    about = read_results_manifest(tmp_path / "out").about
    assert str(about["segmenter"]).startswith("nltk 3.") and about["parser"] is None
    inputs = about["inputs"]
    assert inputs[str(raw / "b.sgm")]["format"] == "sgml"
    assert inputs[str(raw / "a.txt")]["encoding"] == "utf-8"
    assert len(inputs[str(raw / "a.txt")]["sha256"]) == 64
    assert not [one for one in tmp_path.iterdir() if one.name.endswith("unfinished")]


def test_limits_and_repetitions_are_settings(raw: Path, tmp_path: Path) -> None:
    annotate(raw, tmp_path / "out", *PLAIN, "task.max_tokens=null", "task.deduplicate=false")
    assert len(lines(tmp_path / "out" / "train.txt")) == 8
    annotate(raw, tmp_path / "out", *PLAIN, "task.max_tokens=4", "task.quotes=treebank")
    assert lines(tmp_path / "out" / "train.txt") == ["The cat sleeps !"]


def test_splits_by_document(tmp_path: Path) -> None:
    raw = write_raw(tmp_path / "raw", copies=200)
    shares = ("task.valid=0.2", "task.test=0.1")
    annotate(raw, tmp_path / "out", *PLAIN, *shares)
    out = tmp_path / "out"
    found = {name: lines(out / f"{name}.txt") for name in ("train", "valid", "test")}
    assert 20 < len(found["valid"]) < 60 and 8 < len(found["test"]) < 36
    annotate(raw, tmp_path / "whole", *PLAIN)
    assert sorted(line for one in found.values() for line in one) == sorted(
        lines(tmp_path / "whole" / "train.txt")
    )
    # Sentences of one paragraph are in one split.
    assert (
        sum({"The dog sees the cat .", "The cat sleeps !"} <= set(f) for f in found.values()) == 1
    )


def test_chinese_news(tmp_path: Path) -> None:
    news = "<DOC><TEXT><P>\n我们在图书\n馆看书。“好。”\n</P></TEXT></DOC>\n"
    (tmp_path / "news.sgm").write_bytes(news.encode("gb18030"))
    arguments = ("task.language=zh", "segmenter=jieba", "parser=none")
    annotate(tmp_path / "news.sgm", tmp_path / "out", *arguments)
    assert lines(tmp_path / "out" / "train.txt") == ["我们 在 图书馆 看书 。", "“ 好 。 ”"]


def test_nothing_is_left(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("The cat sleeps on the mat.\n" * 2)
    with pytest.raises(GardenpathError, match="no sentence is left: too long 2"):
        annotate(tmp_path / "a.txt", tmp_path / "out", *PLAIN, "task.max_tokens=2")
    assert not (tmp_path / "out").exists()


def test_results_of_others_are_not_replaced(raw: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "valid.txt").write_text("mine")
    with pytest.raises(RunError, match=r"valid\.txt"):
        annotate(raw, tmp_path / "out", *PLAIN)


# ---- Settings


def test_what_must_be_named(raw: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="output is missing"):
        load_settings("evaluate", ["task=annotate", f"input={raw}"])
    with pytest.raises(ConfigError, match=r"input is missing.*files of raw text"):
        load_settings("evaluate", ["task=annotate", f"output={tmp_path}"])
    with pytest.raises(ConfigError, match="leave nothing to train"):
        annotate(raw, tmp_path / "out", *PLAIN, "task.valid=0.5", "task.test=0.5")
    with pytest.raises(ConfigError, match=r"task\.language is missing"):
        annotate(raw, tmp_path / "out", "parser=none")


def test_what_is_not_installed(raw: Path, tmp_path: Path) -> None:
    for setting, message in {
        "segmenter=spacy": "pip install spacy",
        "segmenter=nonsense": "unknown segmenter",
        "task.sentences.splitter=punkt": "punkt_tab",
    }.items():
        with pytest.raises(GardenpathError, match=message):
            annotate(raw, tmp_path / "out", *PLAIN, setting)
    for parser in ("benepar", "stanza"):
        with pytest.raises(GardenpathError, match=f"needs the package {parser}"):
            annotate(raw, tmp_path / "out", "task.language=en", f"parser={parser}")


# ---- Parsers of others


def test_benepar(raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_benepar(monkeypatch, tmp_path)
    annotate(raw, tmp_path / "out", "task.language=en", "task.processes=1")
    found = lines(tmp_path / "out" / "train.txt")
    assert found[1] == "(S (X The) (X cat) (X sleeps) (X !))"
    assert "(X -LRB-) (X an)" in found[3]
    read = [one.words for one in BracketFiles(root=str(tmp_path / "out")).read("train")]
    assert read[3] == ("A", "queen", "(", "an", "old", "one", ")", "sees", "the", "dog", ".")
    about = read_results_manifest(tmp_path / "out").about
    assert about["parser"] == "benepar unknown version, model benepar_en3"
    with pytest.raises(GardenpathError, match=r"benepar\.download\('benepar_zh2'\)"):
        annotate(raw, tmp_path / "out", "task.language=zh", "segmenter=characters")


def test_stanza(raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = install_stanza(monkeypatch)
    annotate(raw, tmp_path / "out", "task.language=en", "parser=stanza", "task.processes=1")
    assert lines(tmp_path / "out" / "train.txt")[1] == "(S (X The) (X cat) (X sleeps) (X !))"
    assert loaded[0]["tokenize_pretokenized"] is True and loaded[0]["download_method"] is None
    with pytest.raises(GardenpathError, match=r"stanza\.download\('zh-hans'\)"):
        annotate(raw, tmp_path / "o", "task.language=zh", "segmenter=characters", "parser=stanza")


def test_a_parser_with_other_words_is_refused(
    raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_benepar(monkeypatch, tmp_path)
    whole = Berkeley.parse_sents
    monkeypatch.setattr(
        Berkeley, "parse_sents", lambda self, given: whole(self, [_shorter(one) for one in given])
    )
    with pytest.raises(GardenpathError, match="has other words"):
        annotate(raw, tmp_path / "out", "task.language=en", "task.processes=1")


def _shorter(sentence: InputSentence) -> InputSentence:
    return InputSentence(sentence.words[:-1])


# ---- Our own parser


def test_a_run_parses(folder: Path, raw: Path, tmp_path: Path) -> None:
    run = run_of(folder, "rnng")
    (raw / "b.sgm").unlink()
    beams = ("search.action_beam=10", "search.word_beam=3")
    annotate(raw, tmp_path / "out", f"parser={run.path}", *beams, "task.allow_unknown=true")
    trees = [parse_tree(one) for one in lines(tmp_path / "out" / "train.txt")]
    assert [" ".join(one.words()) for one in trees][1] == "The cat sleeps !"
    expected = run.parse([QUEEN.split()], allow_unknown=True)
    assert trees[-1] == expected[0][0][1]
    assert {one.label for one in trees} <= set(run.vocabulary.labels)
    about = read_results_manifest(tmp_path / "out").about
    assert str(run.path) in about["parser"] and about["language"] == "en"


def test_runs_that_cannot_parse(folder: Path, raw: Path, tmp_path: Path) -> None:
    with pytest.raises(RunError, match="does not generate trees"):
        annotate(raw, tmp_path / "out", f"parser={run_of(folder, 'lstm').path}")
    (raw / "a.txt").write_text("Colourless green ideas slumber furiously.\n")
    with pytest.raises(GardenpathError, match=r"words are unknown.*allow_unknown"):
        annotate(raw, tmp_path / "out", f"parser={run_of(folder, 'rnng').path}")
    with pytest.raises(GardenpathError, match="no_such_run"):
        annotate(raw, tmp_path / "out", f"parser={tmp_path / 'no_such_run'}")


# ---- Shards


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Shards of a few sentences, and a parser that is fast."""
    monkeypatch.setattr(pieces, "PIECE_BYTES", 300)
    monkeypatch.setattr(annotation_work, "PARSED_TOGETHER", 5)
    install_benepar(monkeypatch, tmp_path)
    return write_raw(tmp_path / "raw", copies=40)


def with_trees(raw: Path, output: Path, processes: int = 1) -> None:
    annotate(raw, output, "task.language=en", f"task.processes={processes}", "task.valid=0.3")


def test_the_number_of_processes_changes_nothing(small: Path, tmp_path: Path) -> None:
    found = []
    for processes in (1, 2, 3):
        with_trees(small, tmp_path / f"out{processes}", processes)
        found.append(content(tmp_path / f"out{processes}"))
    assert found[0] == found[1] == found[2]
    assert len(found[0]["train.txt"].splitlines()) > 20


def test_shards_change_nothing(small: Path, tmp_path: Path) -> None:
    with_trees(small, tmp_path / "out")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "PIECE_BYTES", 10**6)
        patch.setattr(annotation_work, "PARSED_TOGETHER", 10**6)
        with_trees(small, tmp_path / "whole")
    assert content(tmp_path / "out") == content(tmp_path / "whole")


@pytest.mark.parametrize("step", [3, 60, 120, 200, 280, 340])
def test_a_killed_annotation_resumes(small: Path, tmp_path: Path, step: int) -> None:
    out = tmp_path / "results" / "out"
    with_trees(small, tmp_path / "alone")
    killed = killed_before_step(step, lambda: with_trees(small, out), tmp_path / "results")
    assert killed, "the process came to its end"
    folders = list((tmp_path / "results").glob(".*.unfinished"))
    done = {one.name for one in folders[0].glob("[!.]*")} if folders else set()
    written: list[str] = []

    def note(path: Path, records: object) -> None:
        written.append(path.name)
        write_checked(path, records)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(annotation_work, "write_checked", note)
        with_trees(small, out)
    assert content(out) == content(tmp_path / "alone")
    finished = {name for name in done if name.startswith(("words-", "trees-"))}
    assert not finished & set(written), "finished shards are used"
    assert not list((tmp_path / "results").glob(".*.unfinished"))
    assert [one.name for one in (tmp_path / "results").glob(".*.part")] == []


def test_damaged_shards_are_made_again(small: Path, tmp_path: Path) -> None:
    out = tmp_path / "results" / "out"
    with_trees(small, tmp_path / "alone")
    assert killed_before_step(220, lambda: with_trees(small, out), tmp_path / "results")
    (folder,) = (tmp_path / "results").glob(".*.unfinished")
    for stage in ("words", "trees"):
        path = sorted(folder.glob(f"{stage}-*"))[0]
        damaged = bytearray(path.read_bytes())
        damaged[len(damaged) // 2] ^= 1
        path.write_bytes(damaged)
    with_trees(small, out)
    assert content(out) == content(tmp_path / "alone")


def test_a_killed_process_is_named(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_trees(small, tmp_path / "alone")
    with monkeypatch.context() as patch:
        patch.setenv(KILLED, "1")
        with pytest.raises(RunError, match=r"exit code -9.*task\.processes"):
            with_trees(small, tmp_path / "out", processes=2)
    with_trees(small, tmp_path / "out", processes=2)
    assert content(tmp_path / "out") == content(tmp_path / "alone")


@pytest.mark.parametrize("processes", [1, 2])
def test_errors_are_those_of_one_process(small: Path, tmp_path: Path, processes: int) -> None:
    with (small / "a.txt").open("ab") as file:
        file.write(b"broken \xff line\n")
    arguments = ("task.language=en", f"task.processes={processes}", "task.raw.broken=error")
    with pytest.raises(InputError, match=r"a\.txt:43: not utf-8 at byte 8"):
        annotate(small, tmp_path / "out", *arguments)


def test_input_that_changes_meanwhile_is_refused(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = annotation_work.AnnotationWork.write

    def change(self: annotation_work.AnnotationWork, *given: object) -> object:
        (small / "a.txt").write_text("Something else.\n")
        return write(self, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(annotation_work.AnnotationWork, "write", change)
    with pytest.raises(GardenpathError, match="the input has changed"):
        with_trees(small, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_checked_lines(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    for records in ([], [None], [["a\u4e00", 1], "x\u2028y"]):
        write_checked(path, records)
        assert read_checked(path) == records
    text = path.read_text()
    for damaged in (text[1:], text[:-2], "", text.replace("x", "y")):
        path.write_text(damaged)
        assert read_checked(path) is None
    assert read_checked(tmp_path / "none") is None
