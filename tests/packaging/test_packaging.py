"""What is packaged, how it is installed, and the commands of the Makefile and of CI."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PYPROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
SUPPORTED = [
    version
    for minor in range(8, 30)
    if f"{(version := f'3.{minor}')}.5" in SpecifierSet(PROJECT["requires-python"])
]


def _yaml(path: Path) -> dict[Any, Any]:
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert isinstance(content, dict), path
    return content


def _requirements() -> list[Requirement]:
    groups = [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()]
    found = [Requirement(text) for group in groups for text in group]
    return [requirement for requirement in found if requirement.name != PROJECT["name"]]


def _pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line.split("==") for line in lines]
    names = [canonicalize_name(name) for name, _ in pins]
    assert len(set(names)) == len(names), "a package is pinned twice"
    return dict(zip(names, (version for _, version in pins), strict=True))


def test_every_module_is_in_a_package() -> None:
    folders = {path.parent for path in (ROOT / "src").rglob("*.py")}
    assert [str(folder) for folder in folders if not (folder / "__init__.py").is_file()] == []


def test_python_versions_agree() -> None:
    assert SUPPORTED == ["3.11", "3.12", "3.13"]
    prefix = "Programming Language :: Python :: "
    classifiers = [c.removeprefix(prefix) for c in PROJECT["classifiers"] if prefix in c]
    assert classifiers == SUPPORTED
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    found = re.search(r"^VERSIONS := (.*)$", makefile, re.MULTILINE)
    assert found is not None and found[1].split() == SUPPORTED
    # Tools check against the oldest version.
    assert PYPROJECT["tool"]["mypy"]["python_version"] == SUPPORTED[0]
    assert PYPROJECT["tool"]["ruff"]["target-version"] == f"py{SUPPORTED[0].replace('.', '')}"


def test_ci_runs_all_python_versions() -> None:
    jobs = _yaml(ROOT / ".github" / "workflows" / "tests.yml")["jobs"]
    matrix = jobs["test"]["strategy"]["matrix"]
    assert matrix["python"] == SUPPORTED
    assert {extra["python"] for extra in matrix["include"]} <= set(SUPPORTED)
    (setup,) = (s for s in jobs["test"]["steps"] if "setup-python" in s.get("uses", ""))
    assert setup["with"]["python-version"] == "${{ matrix.python }}"
    assert _commands(jobs["test"]).count("make test-all PYTHON=python") == 1
    assert _commands(jobs["demo"]).count("make demo PYTHON=python") == 1


def _commands(job: dict[str, Any]) -> list[str]:
    return [line for step in job["steps"] for line in step.get("run", "").splitlines()]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_may_read_only(path: Path) -> None:
    workflow = _yaml(path)
    # YAML 1.1 reads the key `on` as true.
    assert set(workflow[True]) == {"push", "pull_request"}
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        assert "permissions" not in job
        actions = [step["uses"] for step in job["steps"] if "uses" in step]
        assert all(re.fullmatch(r"actions/[a-z-]+@v\d+", action) for action in actions)


def test_hooks_before_a_commit_use_the_tools_of_the_project() -> None:
    """Local hooks: other versions of the tools than those of `make test` would disagree with it."""
    config = _yaml(ROOT / ".pre-commit-config.yaml")
    assert [repository["repo"] for repository in config["repos"]] == ["local"]
    hooks = config["repos"][0]["hooks"]
    assert all(hook["language"] == "system" for hook in hooks)
    assert [" ".join(hook["entry"].split()[:2]) for hook in hooks] == [
        ".venv/bin/ruff check",
        ".venv/bin/ruff format",
        "make --silent",
    ]
    target = hooks[2]["entry"].split()[2]
    recipe = re.search(
        rf"^{target}: (.*)\n\t(.*)\n", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert recipe is not None and recipe.groups() == (
        "$(VENV)/.installed-test $(LINK)",
        "$(BIN)/mypy",
    )


@pytest.mark.parametrize("requirement", _requirements(), ids=lambda r: r.name)
def test_pins_are_in_the_range_of_the_requirement(requirement: Requirement) -> None:
    assert _pins()[canonicalize_name(requirement.name)] in requirement.specifier
    bounds = {specifier.operator for specifier in requirement.specifier}
    assert bounds == {">=", "<"}, "a range, so that Gardenpath can be installed beside others"


def test_the_build_uses_the_setuptools_of_the_tests() -> None:
    (required,) = PYPROJECT["build-system"]["requires"]
    assert required in PROJECT["optional-dependencies"]["test"]


def test_tools_are_in_extras() -> None:
    extras = PROJECT["optional-dependencies"]
    for_users = {"wandb", "launchers", "hf", "annotate", "excel", "playground"}
    assert set(extras) == for_users | {"docs", "test"}
    needed = {Requirement(text).name for text in PROJECT["dependencies"]}
    assert needed.isdisjoint(Requirement(text).name for group in extras.values() for text in group)


# ----------------------------------------------------------------------------
# The Makefile finds a supported Python, and says what is wrong if there is none.


def _make(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Set up a virtual environment in a folder that is also the only one in which programs are."""
    make = shutil.which("make")
    assert make is not None
    return subprocess.run(
        [make, *arguments, f"VENV={folder}/venv", f"{folder}/venv/.installed"],
        cwd=ROOT,
        env={"PATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


def _interpreter(folder: Path, name: str, version: str | None) -> Path:
    """A program that answers as a Python of this version does; None is one that does not run."""
    supported = version in ("3.11", "3.12", "3.13")
    path = folder / name
    answer = "exit 127" if version is None else f"echo {version}; exit {int(not supported)}"
    path.write_text(f"#!/bin/sh\n{answer}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("versions", "chosen"),
    [
        ({"python3.13": "3.13", "python3.11": "3.11", "python3": "3.12"}, "python3.11"),
        ({"python3.11": None, "python3.12": "3.12", "python3.13": "3.13"}, "python3.12"),
        ({"python3.9": "3.9", "python3": "3.13"}, "python3"),
    ],
    ids=["the oldest first", "those that do not run are passed over", "any in the range"],
)
def test_the_first_supported_python_is_chosen(
    tmp_path: Path, versions: dict[str, str | None], chosen: str
) -> None:
    for name, version in versions.items():
        _interpreter(tmp_path, name, version)
    assert f'python="{tmp_path / chosen}"' in _make(tmp_path, "--dry-run").stdout


def test_the_python_of_the_tests_is_supported(tmp_path: Path) -> None:
    (tmp_path / "python3").symlink_to(sys.executable)
    assert f'python="{tmp_path / "python3"}"' in _make(tmp_path, "--dry-run").stdout


def test_no_supported_python(tmp_path: Path) -> None:
    _interpreter(tmp_path, "python3", "3.9")
    done = _make(tmp_path)
    assert done.returncode == 2
    assert "error: no Python of version 3.11 3.12 3.13 was found; install one" in done.stderr
    assert not (tmp_path / "venv").exists()


def test_a_python_that_is_not_supported(tmp_path: Path) -> None:
    path = _interpreter(tmp_path, "mine", "3.10")
    done = _make(tmp_path, f"PYTHON={path}")
    assert done.returncode == 2
    assert f"error: PYTHON={path} is Python 3.10; set PYTHON to an interpreter of" in done.stderr


def test_a_python_that_does_not_run(tmp_path: Path) -> None:
    done = _make(tmp_path, "PYTHON=/nowhere/python")
    assert done.returncode == 2
    assert "error: PYTHON=/nowhere/python is not a working Python" in done.stderr


# ----------------------------------------------------------------------------
# The wheel holds all files of the package, and works where there is no checkout.


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
