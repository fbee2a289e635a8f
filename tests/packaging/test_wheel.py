"""The wheel holds all files of the package, and works where there is no checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMMANDS = ("gardenpath-train", "gardenpath-evaluate", "gardenpath-playground")


def _run(*command: str | Path, folder: Path) -> str:
    """Run a command in a folder, without any variable that names the checkout; its output."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "GARDENPATH", "VIRTUAL_ENV", "PYTEST"))
    }
    done = subprocess.run(
        list(map(str, command)),
        cwd=folder,
        env={**environment, "OMP_NUM_THREADS": "1", "COLUMNS": "120"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel, built from a copy: setuptools would pack what an earlier build left in build/."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    for name in ("src", "conf"):
        unwanted = shutil.ignore_patterns("__pycache__", "*.egg-info")
        shutil.copytree(ROOT / name, folder / name, ignore=unwanted)
    options = ("--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", "dist")
    _run(sys.executable, "-m", "pip", "wheel", ".", *options, folder=folder)
    (found,) = (folder / "dist").iterdir()
    return found


@pytest.fixture(scope="module")
def scripts(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of commands of a virtual environment with the wheel and nothing of the checkout.

    The dependencies are those of the environment that runs the tests. Their folder is put on the
    path by a .pth file: Python then ignores the .pth files inside of it, so that an editable
    installation of the checkout is not found.
    """
    folder = tmp_path_factory.mktemp("elsewhere") / "venv"
    _run(sys.executable, "-m", "venv", "--without-pip", folder, folder=folder.parent)
    python = folder / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", python)
    _run(*pip, "install", "--no-deps", "--no-index", wheel, folder=folder.parent)
    paths = sysconfig.get_paths(vars={"base": str(folder), "platbase": str(folder)})
    dependencies = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    target = Path(paths["purelib"]) / "dependencies.pth"
    target.write_text("\n".join(sorted(dependencies)) + "\n", encoding="utf-8")
    return python.parent


def _files_of_the_package() -> Iterator[str]:
    for folder, inside in ((ROOT / "src", "gardenpath"), (ROOT / "conf", "gardenpath/conf")):
        for path in folder.rglob("*"):
            if path.is_file() and not {"__pycache__", ".DS_Store"} & set(path.parts):
                yield f"{inside}/{path.relative_to(folder).as_posix()}"


def test_the_wheel_has_every_file_of_the_package(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    expected = set(_files_of_the_package())
    assert {"gardenpath/py.typed", "gardenpath/conf/train.yaml"} <= expected
    assert sorted(expected - names) == [], "missing: see package-data in pyproject.toml"
    others = {name for name in names - expected if ".dist-info/" not in name}
    assert others == set(), "nothing else is in it"


def test_the_wheel_has_both_commands(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith("/entry_points.txt"))
        lines = archive.read(name).decode().splitlines()
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert tuple(scripts) == COMMANDS
    assert {f"{command} = {target}" for command, target in scripts.items()} <= set(lines)


def test_the_package_is_that_of_the_wheel(scripts: Path, tmp_path: Path) -> None:
    code = (
        "import gardenpath, gardenpath.util as p; print(gardenpath.__file__); print(p.CONFIG_DIR)"
    )
    for line in _run(scripts / "python", "-c", code, folder=tmp_path).split():
        assert Path(line).is_relative_to(scripts.parent.resolve()), line


def test_training_evaluation_and_report_without_the_checkout(scripts: Path, tmp_path: Path) -> None:
    sizes = ("data.reader.train=100", "data.reader.valid=10", "data.reader.test=10")
    tiny = ("model.size=tiny", "trainer=cpu", "trainer.max_epochs=1")
    train = (scripts / "gardenpath-train", "data=toy_english", *sizes)
    assert "perplexity" in _run(*train, "model=lstm", *tiny, folder=tmp_path)
    _run(*train, "model=ngram", folder=tmp_path)
    # The launchers are found in the installed package, and so is the code in their processes.
    parallel = ("-m", "model=unigram", "seed=1,2", "hydra/launcher=local")
    assert "2 runs: 2 done" in _run(*train, *parallel, folder=tmp_path)
    evaluate = (scripts / "gardenpath-evaluate", "suite=toy_english", "suite.items=2")
    output = _run(*evaluate, folder=tmp_path)
    report = tmp_path / "results" / "toy_english" / "report.html"
    assert output.strip().endswith(str(report.relative_to(tmp_path)))
    text = report.read_text(encoding="utf-8")
    assert "lstm" in text and "ngram" in text
    assert (report.parent / "items.csv").stat().st_size > 0
    assert str(ROOT) not in text
