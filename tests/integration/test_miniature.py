"""Whole projects in miniature: a study, raw text to surprisals, and the demo."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from gardenpath.data.readers.files import BracketFiles, ToyTreebank
from gardenpath.data.trees.tree import format_tree
from gardenpath.eval.display import EXACT, FAMILY_NAMES
from gardenpath.runs.find import find, load
from gardenpath.studies.mandarin import MANDARIN_CLAIMS
from tests.integration.commands import ROOT, call, check_command_line, start
from tests.tiers import built_once

# A file of the Chinese Treebank in each split of Shao et al. 2017.
_CTB = {"train": "chtb_0044.nw", "valid": "chtb_0301.nw", "test": "chtb_0001.nw"}
_XINHUA_SENTENCES = 90
# 2 corpora × (1 n-gram, 2 of each neural model).
MINIATURE_RUNS = 18


def write_corpora(folder: Path) -> Path:
    """Write ``ctb`` in the format of the treebank, and parsed news in ``xinhua/train.txt``."""
    toy = ToyTreebank(grammar="mandarin", train=60, valid=15, test=15)
    (folder / "ctb").mkdir(parents=True)
    for split, name in _CTB.items():
        trees = [format_tree(one.tree) for one in toy.read(split) if one.tree is not None]
        text = "".join(f"<S ID={n}>\n( {tree} )\n</S>\n" for n, tree in enumerate(trees, start=1))
        (folder / "ctb" / name).write_text(f"<DOC>\n{text}</DOC>\n", encoding="utf-8")
    parsed = ToyTreebank(grammar="mandarin", seed=7, train=_XINHUA_SENTENCES).read("train")
    (folder / "xinhua").mkdir()
    lines = [format_tree(one.tree) for one in parsed if one.tree is not None]
    (folder / "xinhua" / "train.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def paths(folder: Path) -> list[str]:
    """The folders of the miniature, as settings of both commands."""
    return [
        f"paths.corpora={folder / 'corpora'}",
        f"paths.cache={folder / 'cache'}",
    ]


def trained_miniature(factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the corpora and the runs of the miniature, trained once."""
    return built_once(factory, "miniature", train_miniature)


def train_miniature(folder: Path, *overrides: str) -> Path:
    """Train the grid of ``experiment=mandarin`` with two seeds and tiny models; its run folders."""
    if not (folder / "corpora").exists():
        write_corpora(folder / "corpora")
    runs = folder / "runs" / "mandarin"
    code = call(
        "train.py", "-m", "experiment=mandarin", *paths(folder), f"paths.runs={runs}",
        "seed=1,2", "model.size=tiny", "trainer=cpu", "trainer.max_epochs=1", *overrides,
    )  # fmt: skip
    assert code == 0
    return runs


# ----------------------------------------------------------------------------
# From a treebank to trained models and tables, as docs/replicate.md describes, in miniature.


@pytest.fixture(scope="module")
def replication(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the corpora and the runs of the miniature."""
    return trained_miniature(tmp_path_factory)


def _evaluate(folder: Path, output: Path, *arguments: str) -> None:
    common = [
        f"output={output}",
        f"paths.surprisals={folder / 'surprisals.sqlite'}",
        *paths(folder),
    ]
    assert call("evaluate.py", *arguments, *common) == 0


@pytest.mark.slow
def test_the_grid_is_trained_side_by_side(replication: Path) -> None:
    runs = find(replication / "runs" / "mandarin", device="cpu")
    names = {(run.name.corpus, run.name.model, run.name.seed) for run in runs}
    models = [
        ("ngram", 1),
        *((m, s) for m in ("lstm", "transformer", "plm", "rnng") for s in (1, 2)),
    ]
    assert names == {(c, m, s) for c in ("ctb", "xinhua") for m, s in models}
    assert len(runs) == MINIATURE_RUNS
    for run in runs:
        name = run.name
        place = f"{name.corpus}/{name.model}/seed{name.seed}"
        assert run.path == replication / "runs" / "mandarin" / place


@pytest.mark.slow
def test_a_second_call_trains_nothing_again(
    replication: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = replication / "runs" / "mandarin" / "ctb" / "lstm" / "seed1" / "result.json"
    before = path.stat().st_mtime_ns
    train_miniature(replication, "model=lstm")
    assert path.stat().st_mtime_ns == before
    assert capsys.readouterr().out.count("is finished already") == 4


@pytest.mark.slow
def test_both_corpora_are_tested_on_the_treebank(replication: Path, tmp_path: Path) -> None:
    """Table 3b: perplexities of models of both corpora on the test split of the treebank."""
    runs = ",".join(str(replication / "runs" / "mandarin" / name) for name in ("ctb", "xinhua"))
    limit = "task.marginal_sentences=0"
    _evaluate(replication, tmp_path, "task=perplexity", f"run={runs}", "data=ctb", limit)
    table = pd.read_csv(tmp_path / "perplexity.csv")
    assert set(table["corpus"]) == {"ctb"} and set(table["sentences"]) == {15}
    assert len(table) == MINIATURE_RUNS and table["words"].nunique() == 1
    counts = table.groupby("trained_on").size().to_dict()
    assert counts == {"ctb": 9, "xinhua": 9}
    unknown = table.groupby("trained_on")["unknown_rate"].first()
    assert unknown["xinhua"] <= unknown["ctb"]
    for run in find(*runs.split(","), device="cpu"):
        row = table[
            (table["trained_on"] == run.name.corpus)
            & (table["seed"] == run.name.seed)
            & (table["model"].str.replace(" (joint)", "") == run.name.model)
        ]
        name = "joint_perplexity" if run.is_syntactic else "perplexity"
        # The test split of both corpora is that of the treebank.
        assert row["perplexity"].item() == pytest.approx(run.metrics["test"][name], rel=1e-4)


@pytest.mark.slow
def test_both_corpora_are_in_one_table(replication: Path, tmp_path: Path) -> None:
    """Table 4 and Figure 5: sizes and lengths, without a run."""
    none = f"run={tmp_path / 'none'}"
    _evaluate(replication, tmp_path, "task=corpus", "corpora=[ctb,xinhua]", none)
    table = pd.read_csv(tmp_path / "corpora" / "statistics.csv").set_index(["corpus", "split"])
    assert table["sentences"].to_dict() == {
        ("ctb", "train"): 60, ("ctb", "valid"): 15, ("ctb", "test"): 15,
        ("xinhua", "train"): 150, ("xinhua", "valid"): 15, ("xinhua", "test"): 15,
    }  # fmt: skip
    assert (tmp_path / "corpora" / "report.html").is_file()
    assert list((tmp_path / "corpora" / "figures").glob("sentence_lengths.*"))


@pytest.mark.slow
def test_the_treebank_is_written_for_other_tools(replication: Path, tmp_path: Path) -> None:
    _evaluate(replication, tmp_path, "task=export", "data=xinhua")
    lines = (tmp_path / "xinhua" / "train.txt").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 150 and all(line.startswith("(") for line in lines)


@pytest.mark.slow
def test_the_tables_of_the_paper(replication: Path, tmp_path: Path) -> None:
    """``study=mandarin`` over the runs of both corpora, with tables of the corpora."""
    runs = ",".join(str(replication / "runs" / "mandarin" / name) for name in ("ctb", "xinhua"))
    narrow = ("search.action_beam=10", "search.word_beam=3", "task.marginal_sentences=2")
    few = ("study.items=2", "task.min_items=1", "corpora=[ctb,xinhua]")
    _evaluate(replication, tmp_path, "study=mandarin", f"run={runs}", *few, *narrow)
    folder = tmp_path / "mandarin_study"
    accuracies = pd.read_csv(folder / "tables" / "table_6.csv", keep_default_na=False)
    own = accuracies[accuracies["value"] != ""]
    # Five architectures on two corpora, each with the printed value beside it, on five classes: the
    # critical words of the sixth are not in the small corpora.
    assert len(own) == 50 and (own["printed"] != "").all()
    perplexity = pd.read_csv(folder / "tables" / "table_3b.csv", keep_default_na=False)
    assert (perplexity["value"] != "").sum() == 10
    corpora = pd.read_csv(folder / "tables" / "table_4.csv").set_index(["row", "column"])
    assert corpora.loc[("xinhua", "tokens"), "value"] > corpora.loc[("ctb", "tokens"), "value"]
    claims = pd.read_csv(folder / "claims.csv")
    assert set(claims["source"]) == {"own runs"} and len(claims) == len(MANDARIN_CLAIMS)
    assert (claims["verdict"] != "not tested").sum() > 10


@pytest.mark.slow
def test_released_surprisals_and_own_runs_side_by_side(
    replication: Path, reference_data: Path, tmp_path: Path
) -> None:
    """Own runs are scored on the published materials, so that each cell has both."""
    published = reference_data / "published" / "mandarin"
    given = (
        f"surprisals={published / 'surprisals' / 'ngram_outputs'}",
        f"materials={published / 'suites'}",
        f"run={replication / 'runs' / 'mandarin' / 'ctb' / 'ngram'}",
    )
    _evaluate(replication, tmp_path, "study=mandarin", *given)
    folder = tmp_path / "mandarin_study"
    table = pd.read_csv(folder / "tables" / "table_6.csv", keep_default_na=False)
    known = table[(table["value"] != "") & (table["row"] == "ngram ctb")]
    classes = known.groupby("source")["column"].apply(set)
    # The small model does not know the critical words of most items of some classes.
    assert len(classes["released surprisals"]) == 6
    assert 0 < len(classes["own runs"]) < 6 and classes["own runs"] < classes["released surprisals"]
    items = pd.read_csv(folder / "tables" / "table_2.csv", keep_default_na=False)
    cells = items[items["value"] != ""].set_index(["source", "row", "column"])["value"]
    own, released = cells.loc["own runs"], cells.loc["released surprisals"]
    assert len(own) > 0 and own.to_dict().items() <= released.to_dict().items()
    assert (folder / "data" / "own_runs" / "items.csv").is_file()


# ----------------------------------------------------------------------------
# Raw news → trees by a trained RNNG → a new RNNG on them and the treebank → surprisals.


_SMALL = (
    "model=rnng",
    "trainer=cpu",
    "trainer.max_epochs=1",
    "model.network.layers=1",
    "model.network.hidden=8",
)
_NARROW = ("search.action_beam=10", "search.word_beam=3")
_ARTICLE = """\
<DOC id="{number}">
<HEADLINE>
不 要 标题 。
</HEADLINE>
<TEXT>
<P>
{text}
</P>
</TEXT>
</DOC>
"""


def write_news(folder: Path) -> list[tuple[str, ...]]:
    """Write articles of a few sentences in GB18030; return the different sentences."""
    toy = ToyTreebank(grammar="mandarin", seed=11, train=60)
    sentences = [one.words for one in toy.read("train")]
    assert all(words[-1] == "。" for words in sentences)
    folder.mkdir()
    for number in range(0, len(sentences), 6):
        text = "\n".join(" ".join(words) for words in sentences[number : number + 6])
        article = _ARTICLE.format(number=number, text=text).encode("gb18030")
        (folder / f"xin_{number:03d}.sgm").write_bytes(article)
    return list(dict.fromkeys(sentences))


def test_from_raw_news_to_surprisals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_corpora(tmp_path / "corpora")
    (tmp_path / "corpora" / "xinhua" / "train.txt").unlink()
    (tmp_path / "corpora" / "xinhua").rmdir()
    common = (*paths(tmp_path), f"paths.runs={tmp_path / 'runs'}")
    # Without the parsed news, the message names the command that makes them.
    assert call("train.py", "data=xinhua", *_SMALL, *common) == 2
    said = capsys.readouterr().err
    assert "task=annotate" in said and f"output={tmp_path / 'corpora' / 'xinhua'}" in said
    # A parser is trained on the treebank, and parses the news.
    assert call("train.py", "data=ctb", *_SMALL, *common) == 0
    parser = tmp_path / "runs" / "ctb" / "rnng" / "seed1"
    sentences = write_news(tmp_path / "news")
    xinhua = tmp_path / "corpora" / "xinhua"
    code = call(
        "evaluate.py", "task=annotate", f"input={tmp_path / 'news'}", "segmenter=whitespace",
        f"parser={parser}", f"output={xinhua}", "task.processes=1", "task.allow_unknown=true",
        *_NARROW,
    )  # fmt: skip
    assert code == 0
    parsed = list(BracketFiles(root=str(xinhua)).read("train"))
    assert [one.words for one in parsed] == sentences
    # The news is added to the training split of the treebank, with one vocabulary.
    assert call("train.py", "data=xinhua", *_SMALL, *common) == 0
    run = load(tmp_path / "runs" / "xinhua" / "rnng" / "seed1", device="cpu")
    ends = [one.vocabulary.counts[one.vocabulary.ids["。"]] for one in (load(parser), run)]
    assert ends == [60, 60 + len(sentences)]
    (tmp_path / "input.txt").write_text(" ".join(sentences[0]) + "\n", encoding="utf-8")
    code = call(
        "evaluate.py", "task=surprisal", f"input={tmp_path / 'input.txt'}", f"run={run.path}",
        f"output={tmp_path / 'results'}", f"paths.surprisals={tmp_path / 's.sqlite'}",
        *paths(tmp_path), *_NARROW,
    )  # fmt: skip
    assert code == 0
    table = pd.read_csv(tmp_path / "results" / "surprisal.tsv", sep="\t", comment="#")
    assert len(table) == len(sentences[0]) + 1
    assert (table["surprisal_bits"] > 0).all()


# ----------------------------------------------------------------------------
# ``make demo``: its commands, in miniature, and what it leaves on the screen.


_LINES, _COLUMNS = 40, 80
_CORPUS = ("data.reader.train=300", "data.reader.valid=20", "data.reader.test=20")
_NETWORK = ("model.network.layers=1", "model.network.hidden=8", "trainer.max_epochs=1")


def recipe(folder: Path) -> list[list[str]]:
    """The commands of ``make demo``, in words, without installation."""
    make = shutil.which("make")
    assert make is not None
    (folder / ".installed").touch()
    # Not as a part of the make that runs the tests.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    shown = subprocess.run(
        [make, "--dry-run", "--old-file", f"{folder}/.installed", "demo", f"VENV={folder}"],
        cwd=ROOT, capture_output=True, text=True, check=True, env=environment,
    ).stdout  # fmt: skip
    python = f"{folder}/bin/python"
    lines = shown.replace("\\\n", " ").splitlines()
    return [shlex.split(line.replace(python, "python")) for line in lines]


def arguments_of(commands: list[list[str]], script: str) -> list[list[str]]:
    """The arguments of a script, each time that it is called."""
    return [words[words.index(script) + 1 :] for words in commands if script in words]


def advice(commands: list[list[str]]) -> list[str]:
    """The lines that end the demo."""
    assert commands[-1][:2] == ["printf", "%s\\n"]
    return commands[-1][2:]


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str], list[str]]:
    """The folder of a miniature demo, what was printed by training, and by evaluation."""
    folder = tmp_path_factory.mktemp("demo")
    commands = recipe(tmp_path_factory.mktemp("venv"))
    printed = []
    for arguments in arguments_of(commands, "train.py"):
        own = _NETWORK if "-m" in arguments else ()
        found = start("train.py", *arguments, *_CORPUS, *own, folder=folder, COLUMNS=str(_COLUMNS))
        assert found.returncode == 0, found.stderr
        printed += (found.stdout + found.stderr).splitlines()
    (evaluation,) = arguments_of(commands, "evaluate.py")
    found = start("evaluate.py", *evaluation, folder=folder, COLUMNS=str(_COLUMNS))
    assert found.returncode == 0, found.stderr
    return folder, printed, [*found.stdout.splitlines(), *advice(commands)]


@pytest.mark.slow
def test_one_screen_has_all_that_matters(shown: tuple[Path, list[str], list[str]]) -> None:
    folder, _, printed = shown
    assert max(map(len, printed)) <= _COLUMNS
    screen = "\n".join(printed[-(_LINES - 1) :])
    place = [screen.index(text) for text in ("demo: accuracy", "Statistics", "Report: ", "Next, ")]
    assert place == sorted(place)
    report = re.search(r"^Report: (\S+)$", screen, re.MULTILINE)
    assert report is not None and (folder / report[1]).is_file()
    for name in ("garden path", "reflexives", "filler gap", "mean"):
        assert f"│ {name} " in screen


@pytest.mark.slow
def test_models_stand_in_the_usual_order(shown: tuple[Path, list[str], list[str]]) -> None:
    _, _, printed = shown
    begin = next(n for n, line in enumerate(printed) if line.startswith("demo: accuracy"))
    heading = " ".join(printed[begin : begin + 4])
    expected = [name for name in FAMILY_NAMES if re.search(rf"\b{name}\b", heading)]
    assert expected == ["ngram", "lstm", "rnng", "transformer", "plm"]
    places = [heading.index(name) for name in [*expected, EXACT.split()[0]]]
    assert places == sorted(places)


@pytest.mark.slow
def test_lines_of_training_name_their_run_and_count_from_one(
    shown: tuple[Path, list[str], list[str]],
) -> None:
    _, printed, _ = shown
    epochs = [line for line in printed if "epoch " in line]
    assert len(epochs) == 4
    assert all(re.match(r" *runs/demo/demo_english/\w+/seed1: epoch 1/1: ", one) for one in epochs)


@pytest.mark.slow
def test_the_next_command_is_right(tmp_path: Path) -> None:
    following = shlex.split(" ".join(line.rstrip("\\") for line in advice(recipe(tmp_path))[1:]))
    assert following[:2] == ["python", "evaluate.py"]
    check_command_line("evaluate", following[2:])
