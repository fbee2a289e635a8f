"""pyproject.toml, constraints.txt and the continuous integration agree with each other."""

from __future__ import annotations

import re
import tomllib
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
    assert _commands(jobs["test"]).count("make test PYTHON=python") == 1
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
