"""The examples of docs/extending.md, docs/api.md and docs/notebooks.md, as a reader copies them."""

from __future__ import annotations

import csv
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.documented.pages import ROOT

PAGE = ROOT / "docs" / "extending.md"

_SECTION = re.compile(r"^## (?P<name>.+?)\n(?P<text>.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_BLOCK = re.compile(
    r"^```(?P<language>\w+)(?: title=\"(?P<path>[^\"]+)\")?\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True, kw_only=True)
class Example:
    """A section of the page: new files, additions to files, and commands to run afterwards."""

    files: Mapping[str, str]
    additions: tuple[tuple[str, str], ...]
    commands: tuple[tuple[str, ...], ...]

    def apply(self, checkout: Path) -> None:
        """Write the files and make the additions in a copy of the checkout."""
        for name, text in self.files.items():
            path = checkout / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        for name, block in self.additions:
            path = checkout / name
            path.write_text(with_addition(path.read_text(encoding="utf-8"), block), "utf-8")


def examples() -> dict[str, Example]:
    """The sections of the page that have files, by their headings."""
    page = PAGE.read_text(encoding="utf-8")
    found = {match["name"]: _example(match["text"]) for match in _SECTION.finditer(page)}
    return {name: example for name, example in found.items() if example.files}


def _example(section: str) -> Example:
    blocks = [(one["language"], one["path"], one["text"]) for one in _BLOCK.finditer(section)]
    commands = [text for language, _, text in blocks if language == "bash"]
    return Example(
        files={path: text for language, path, text in blocks if path and language != "diff"},
        additions=tuple((path, text) for language, path, text in blocks if language == "diff"),
        commands=tuple(tuple(shlex.split(line)) for text in commands for line in text.splitlines()),
    )


def with_addition(text: str, block: str) -> str:
    """Add the lines that a block marks with ``+`` beside those that it has in common with a text.

    The common lines must occur in the text exactly once, one after the other.
    """
    lines = block.splitlines(keepends=True)
    assert all(line[0] in " +" for line in lines), "only additions are understood"
    before = "".join(line[1:] for line in lines if line[0] == " ")
    after = "".join(line[1:] for line in lines)
    assert text.count(before) == 1, f"occurs {text.count(before)} times: {before}"
    return text.replace(before, after)


# ----------------------------------------------------------------------------
# The examples of docs/extending.md work in a fresh checkout, with nothing but what they say.


EXAMPLES = examples()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of what the two scripts and the tests of models need."""
    skipped = shutil.ignore_patterns("__pycache__")
    for name in ("src", "conf", "tests/models", "tests/eval/search"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=skipped)
    # Tests import the package by its name.
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "gardenpath").symlink_to("../src")
    for name in ("train.py", "evaluate.py", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def run_all(example: Example, checkout: Path) -> list[str]:
    """Run the commands of an example; what each of them prints."""
    environment = {**os.environ, "COLUMNS": "200", "OMP_NUM_THREADS": "1"}
    # Only the code of the copy may be found.
    environment["PYTHONPATH"] = str(checkout / "package")
    printed = []
    for program, *arguments in example.commands:
        assert program == "python"
        done = subprocess.run(
            [sys.executable, *arguments], cwd=checkout, env=environment, capture_output=True,
            text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}"
        printed.append(done.stdout)
    return printed


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_page_has_five_examples() -> None:
    assert list(EXAMPLES) == [
        "Add a model",
        "Add a syntactic model",
        "Add a corpus",
        "Add a suite class",
        "Add an analysis",
    ]
    assert all(example.commands for example in EXAMPLES.values())


@pytest.mark.slow
def test_add_a_model(checkout: Path) -> None:
    example = EXAMPLES["Add a model"]
    example.apply(checkout)
    _, perplexities, suites = run_all(example, checkout)
    assert "bigram" in perplexities
    (bigram,) = [
        row for row in rows(checkout / "results/perplexity.csv") if row["model"] == "bigram"
    ]
    # Better than a uniform distribution, worse than the grammar.
    assert 10.0 < float(bigram["perplexity"]) < 100.0
    summary = rows(checkout / "results/toy_english/summary.csv")
    assert {row["model"] for row in summary} == {"bigram", "exact grammar"}
    assert "results/toy_english" in suites
    config = (checkout / "runs/toy_english/bigram/seed1/config.yaml").read_text(encoding="utf-8")
    assert "hidden: 32" in config


@pytest.mark.slow
def test_add_a_syntactic_model(checkout: Path) -> None:
    example = EXAMPLES["Add a syntactic model"]
    example.apply(checkout)
    tested, _, _ = run_all(example, checkout)
    assert "1 passed" in tested
    summary = rows(checkout / "results/toy_english/summary.csv")
    assert {row["model"] for row in summary} == {"brackets", "exact grammar"}
    assert all(0.0 <= float(row["accuracy"]) <= 1.0 for row in summary)


@pytest.mark.slow
def test_add_a_corpus(checkout: Path) -> None:
    example = EXAMPLES["Add a corpus"]
    example.apply(checkout)
    folder = checkout / "corpora/conllu"
    for split in ("valid", "test"):
        shutil.copy(folder / "train.conllu", folder / f"{split}.conllu")
    run_all(example, checkout)
    (row,) = rows(checkout / "results/perplexity.csv")
    assert (row["corpus"], row["model"]) == ("conllu", "ngram")
    assert (row["sentences"], row["words"]) == ("3", "12")


@pytest.mark.slow
def test_add_a_suite_class(checkout: Path) -> None:
    example = EXAMPLES["Add a suite class"]
    example.apply(checkout)
    listed, _, scored = run_all(example, checkout)
    assert "agreement/none" in listed
    assert "results/agreement" in scored
    summary = {row["model"]: row for row in rows(checkout / "results/agreement/summary.csv")}
    assert set(summary) == {"ngram", "exact grammar"}
    assert {(row["class"], row["items"]) for row in summary.values()} == {("agreement", "3")}
    assert float(summary["exact grammar"]["accuracy"]) == 1.0


@pytest.mark.slow
def test_add_an_analysis(checkout: Path) -> None:
    example = EXAMPLES["Add an analysis"]
    example.apply(checkout)
    _, printed = run_all(example, checkout)
    assert "Are reflexives without an antecedent more surprising?" in printed
    folder = checkout / "results/toy_english"
    assert "antecedent" in (folder / "statistics/reflexive_differences.txt").read_text("utf-8")
    assert (folder / "statistics/reflexive_differences.R").is_file()
    assert {row["model"] for row in rows(folder / "statistics/reflexive_differences_estimates.csv")}
    assert "without an antecedent" in (folder / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["Add a model", "Add a syntactic model", "Add a corpus"])
def test_examples_are_formatted_as_the_code_is(name: str, checkout: Path) -> None:
    example = EXAMPLES[name]
    example.apply(checkout)
    names = {*example.files, *(path for path, _ in example.additions)}
    modules = sorted(name for name in names if name.endswith(".py"))
    assert len(modules) >= 2
    for command in (["check"], ["format", "--check"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--no-cache", *modules],
            cwd=checkout, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout


def test_additions_need_their_place() -> None:
    text = "a = {\n    1,\n}\n"
    assert with_addition(text, "     1,\n+    2,\n") == "a = {\n    1,\n    2,\n}\n"
    with pytest.raises(AssertionError, match="occurs 0 times"):
        with_addition(text, " 3\n+4\n")


# ----------------------------------------------------------------------------
# The examples of docs/api.md and docs/notebooks.md run, in the order in which they stand.


_PYTHON_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def _output(page: str, folder: Path) -> str:
    """What the examples of a page print."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    blocks = _PYTHON_BLOCK.findall(text)
    assert len(blocks) >= 10
    script = folder / "examples.py"
    script.write_text("\n".join(blocks), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, script.name],
        cwd=folder,
        env={**os.environ, "MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.slow
def test_the_examples_of_the_notebook_page_run(tmp_path: Path) -> None:
    _output("notebooks.md", tmp_path)
    assert (tmp_path / "item_1.png").is_file()
    assert (tmp_path / "results" / "notebook" / "manifest.json").is_file()


@pytest.mark.slow
def test_the_examples_of_the_api_page_run(tmp_path: Path) -> None:
    assert "uniform" in _output("api.md", tmp_path)
    assert (tmp_path / "results" / "mine" / "manifest.json").is_file()
