"""The command line as users meet it: Hydra's flags, the other script's groups, help, version."""

from __future__ import annotations

import os
import shutil
import site
import subprocess
import sys
from pathlib import Path

import pytest

from gardenpath import __version__
from gardenpath.cli import train_job
from gardenpath.eval.search.settings import WordSync
from gardenpath.settings.compose import ConfigSource, choices_of, composed, groups_of
from gardenpath.settings.schema import explanations
from gardenpath.settings.tasks import SurprisalTask
from gardenpath.util import CONFIG_DIR
from tests.integration.commands import ROOT, answer, start, toy

SCRIPTS = ("train.py", "evaluate.py")
GROUPS = sorted(path.name for path in CONFIG_DIR.iterdir() if path.is_dir())


def _source(script: str) -> ConfigSource:
    return ConfigSource("train" if script == "train.py" else "evaluate")


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (("--cfg", "job"), "paths:"),
        (("-c", "job"), "paths:"),
        (("--cfg", "hydra"), "hydra:"),
        (("--cfg", "all"), "hydra:"),
        (("--cfg", "job", "-p", "paths"), "# @package paths"),
        (("--cfg", "job", "--resolve"), "runs: runs"),
        (("--info", "config"), "paths"),
        (("--info", "searchpath"), "Config search path"),
        (("--info", "defaults-tree"), "paths"),
        (("--hydra-help",), "Hydra"),
        (("--shell-completion", "install=bash"), "hydra_bash_completion"),
        (("--version",), f"Gardenpath {__version__}"),
    ],
)
def test_flags_of_hydra(script: str, flags: tuple[str, ...], expected: str, tmp_path: Path) -> None:
    done = answer(script, *flags, folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert expected in done.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_folder_of_own_configurations(script: str, tmp_path: Path) -> None:
    own = tmp_path / "mine"
    (own / "paths").mkdir(parents=True)
    (own / "paths" / "scratch.yaml").write_text("defaults: [_paths]\n\nruns: /scratch/runs\n")
    for flag in ("--config-dir", "-cd"):
        done = answer(script, flag, str(own), "paths=scratch", "--cfg", "job", folder=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "runs: /scratch/runs" in done.stdout
    done = answer(script, "--config-dir", str(own), "paths=scrtch", "--help", folder=tmp_path)
    assert done.returncode == 2 and "did you mean 'scratch'?" in done.stderr


def test_another_primary_configuration(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("defaults: [train, _self_]\n\nseed: 17\n")
    arguments = ("--config-dir", str(tmp_path), "--config-name", "mine")
    done = answer("train.py", *arguments, "--cfg", "job", folder=tmp_path)
    assert done.returncode == 0 and "seed: 17" in done.stdout
    done = answer("train.py", *arguments, "seed=-2", folder=tmp_path)
    assert done.returncode == 2 and "seed=-2: must be in" in done.stderr


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("group", GROUPS)
def test_every_group_is_taken_or_named(script: str, group: str, tmp_path: Path) -> None:
    """A group of the other script is a mistake with a remedy, never a traceback."""
    source = _source(script)
    # The analyses of a study are in a folder of their own.
    choice = next(iter([*choices_of(group, source), "any"]))
    done = answer(script, f"{group}={choice}", "--cfg", "job", folder=tmp_path)
    if group in groups_of(source):
        assert "Traceback" not in done.stderr
        return
    other = "evaluate.py" if script == "train.py" else "train.py"
    assert done.returncode == 2
    belongs = f"{group}= belongs to {other}" in done.stderr
    assert belongs or f"{group}= cannot be chosen" in done.stderr


@pytest.mark.parametrize("script", SCRIPTS)
def test_help_lists_the_choices_of_this_script_and_explains_settings(
    script: str, tmp_path: Path
) -> None:
    done = answer(script, "--help", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    choices = done.stdout.split("Choices, as in")[1].split("Settings of these")[0]
    listed = [line.split()[0] for line in choices.splitlines()[1:] if line[2:3].strip()]
    assert listed == sorted(groups_of(_source(script)))
    text = " ".join(done.stdout.split())
    if script == "train.py":
        assert "model.size=small Named size: tiny has width 128" in text
        assert "trainer.max_epochs=50 Maximum number of epochs." in text
    else:
        assert f"search.word_beam=10 {explanations(WordSync)['word_beam']}" in text


def test_help_is_about_the_choices_on_the_command_line(tmp_path: Path) -> None:
    done = answer("evaluate.py", "task=surprisal", "--help", folder=tmp_path)
    assert f"input=??? {explanations(SurprisalTask)['input']}" in " ".join(done.stdout.split())
    done = answer("train.py", "model=ngram", "-h", folder=tmp_path)
    assert "model.network.order=5" in done.stdout and "model.optimiser" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [
        (("--seed", "3"), "--seed: write seed=3"),
        (("--seed=3",), "--seed=3: write seed=3"),
        (("--model", "lstm", "--max-epochs", "2"), "--max-epochs: write max_epochs=2"),
        (("model=lstm,rnng",), "add -m"),
        (("-m", "seed=1,2", "--cfg", "job"), "use one of --run, --multirun, --cfg"),
    ],
)
def test_habits_of_other_programs_are_understood(
    arguments: tuple[str, ...], remedy: str, tmp_path: Path
) -> None:
    done = answer("train.py", *arguments, folder=tmp_path)
    assert done.returncode == 2 and remedy in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_sweep_writes_only_run_folders(tmp_path: Path) -> None:
    arguments = toy(tmp_path, "model=unigram,ngram")
    done = start("train.py", "-m", *arguments, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert sorted(one.name for one in (tmp_path / "runs").iterdir()) == ["toy_english"]
    assert "2 runs: 2 done" in done.stdout
    for model in ("unigram", "ngram"):
        assert (tmp_path / "runs" / "toy_english" / model / "seed1" / "result.json").is_file()


def test_a_job_returns_its_validation_loss_to_sweepers(tmp_path: Path) -> None:
    config = composed(ConfigSource("train"), toy(tmp_path, "model=unigram"))
    loss = train_job(config)
    assert isinstance(loss, float) and 0 < loss < 20


def _without_installation() -> dict[str, str]:
    """Dependencies can be imported, but no installed gardenpath: hooks need the site module."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(site.getsitepackages())}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A second checkout, which calls itself another version."""
    folder = tmp_path / "second"
    folder.mkdir()
    for name in ("src", "conf"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for script in SCRIPTS:
        shutil.copy(ROOT / script, folder / script)
    init = folder / "src" / "__init__.py"
    text = init.read_text(encoding="utf-8").replace(__version__, "99.9")
    init.write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("script", SCRIPTS)
def test_scripts_run_the_code_of_their_own_checkout(checkout: Path, script: str) -> None:
    command = [sys.executable, str(checkout / script), "--version"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=checkout.parent)
    assert done.stdout.strip() == "Gardenpath 99.9"


def test_scripts_work_in_a_checkout_that_is_not_installed(checkout: Path) -> None:
    def run(script: str, *arguments: str) -> str:
        command = [sys.executable, "-S", str(checkout / script), *arguments]
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=checkout, env=_without_installation()
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("train.py", *toy(checkout, "model=ngram"))
    runs = f"run={checkout / 'runs'}"
    assert "ngram" in run("evaluate.py", runs, f"paths.cache={checkout / 'cache'}")


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [("--help",), ("task=suites", "task.examples=false")])
def test_small_commands_load_nothing_heavy(arguments: tuple[str, ...], tmp_path: Path) -> None:
    code = (
        "import sys, runpy\n"
        f"sys.argv = ['evaluate.py', *{arguments!r}]\n"
        f"runpy.run_path({str(ROOT / 'evaluate.py')!r}, run_name='__main__')\n"
        "heavy = {'torch', 'scipy', 'matplotlib', 'pytorch_lightning'} & set(sys.modules)\n"
        "print('heavy:', sorted(heavy))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.stdout.splitlines()[-1] == "heavy: []", done.stderr


def test_importing_the_package_loads_no_library() -> None:
    code = (
        "import gardenpath as gp, sys\n"
        "assert {'numpy', 'torch', 'pandas', 'hydra', 'yaml'}.isdisjoint(sys.modules)\n"
        "assert 'load' in dir(gp)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
