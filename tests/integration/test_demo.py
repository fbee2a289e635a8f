"""``make demo``: its commands, in miniature, and what it leaves on the screen."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from gardenpath.eval.display import EXACT, FAMILY_NAMES
from tests.integration.commands import ROOT, check_command_line, start

pytestmark = pytest.mark.slow

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


def test_models_stand_in_the_usual_order(shown: tuple[Path, list[str], list[str]]) -> None:
    _, _, printed = shown
    begin = next(n for n, line in enumerate(printed) if line.startswith("demo: accuracy"))
    heading = " ".join(printed[begin : begin + 4])
    expected = [name for name in FAMILY_NAMES if re.search(rf"\b{name}\b", heading)]
    assert expected == ["ngram", "lstm", "rnng", "transformer", "plm"]
    places = [heading.index(name) for name in [*expected, EXACT.split()[0]]]
    assert places == sorted(places)


def test_lines_of_training_name_their_run_and_count_from_one(
    shown: tuple[Path, list[str], list[str]],
) -> None:
    _, printed, _ = shown
    epochs = [line for line in printed if "epoch " in line]
    assert len(epochs) == 4
    assert all(re.match(r" *runs/demo/demo_english/\w+/seed1: epoch 1/1: ", one) for one in epochs)


def test_the_next_command_is_right(tmp_path: Path) -> None:
    following = shlex.split(" ".join(line.rstrip("\\") for line in advice(recipe(tmp_path))[1:]))
    assert following[:2] == ["python", "evaluate.py"]
    check_command_line("evaluate", following[2:])
