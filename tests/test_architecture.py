"""Who may import whom, and what may not stand in the code at all."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = sorted([*ROOT.glob("src/**/*.py"), ROOT / "train.py", ROOT / "evaluate.py"])
BOTTOM = (
    "gardenpath.errors",
    "gardenpath.settings.bounds",
    "gardenpath.settings.check",
    "gardenpath.store.versions",
)

# What the modules under a name may import from the project.
ALLOWED = {
    "gardenpath.errors": BOTTOM,
    "gardenpath.settings.bounds": BOTTOM,
    "gardenpath.settings.check": BOTTOM,
    "gardenpath.store.versions": BOTTOM,
    "gardenpath.data": ("gardenpath.errors", "gardenpath.settings.bounds", "gardenpath.data"),
    "gardenpath.models": (*BOTTOM, "gardenpath.data", "gardenpath.models"),
    "gardenpath.eval": (*BOTTOM, "gardenpath.data", "gardenpath.eval"),
    "gardenpath.console": (*BOTTOM, "gardenpath.data"),
    "gardenpath.tasks": (
        *BOTTOM,
        "gardenpath.console",
        "gardenpath.settings.compose",
        "gardenpath.data",
        "gardenpath.models",
        "gardenpath.eval",
        "gardenpath.tasks",
    ),
    "gardenpath.settings.compose": (
        *BOTTOM,
        "gardenpath.data",
        "gardenpath.models",
        "gardenpath.eval",
    ),
}

# Where a library may be imported.
HOMES = {
    "hydra": {"train", "evaluate", "gardenpath.settings.compose"},
    "omegaconf": {"train", "evaluate", "gardenpath.settings.compose"},
    "pytorch_lightning": {
        "gardenpath.models.training.data_module",
        "gardenpath.models.training.lightning_module",
        "gardenpath.models.training.trainer",
        "gardenpath.models.training.loggers",
    },
    "pickle": set(),
    "dill": set(),
    "joblib": set(),
    "shelve": set(),
    "marshal": set(),
}


def _module(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _imports(path: Path) -> Iterator[str]:
    """Every module, or name in a module, that a file imports anywhere."""
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            assert all(alias.name != "*" for alias in node.names), f"{path}: no star imports"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _is_under(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def test_the_files_are_found() -> None:
    modules = {_module(path) for path in FILES}
    assert {
        "train",
        "evaluate",
        "gardenpath.errors",
        "gardenpath.data.trees.tree",
        "gardenpath.models.sequential.lstm",
    } <= modules


@pytest.mark.parametrize("path", FILES, ids=_module)
def test_imports_go_one_way(path: Path) -> None:
    module = _module(path)
    rules = [allowed for package, allowed in ALLOWED.items() if _is_under(module, package)]
    if module in ("train", "evaluate", "src"):
        return
    assert len(rules) == 1, f"{module} belongs to no known part of the project"
    local = [name for name in _imports(path) if _is_under(name, "src")]
    wrong = [name for name in local if not any(_is_under(name, a) for a in rules[0])]
    assert wrong == []


@pytest.mark.parametrize("path", FILES, ids=_module)
def test_libraries_stay_where_they_belong(path: Path) -> None:
    module = _module(path)
    for name in _imports(path):
        home = HOMES.get(name.split(".")[0])
        assert home is None or module in home, f"{module} imports {name}"


def _calls(path: Path) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node


FORBIDDEN_CALLS = {
    "eval",
    "exec",
    "compile",
    "__import__",
    "yaml.load",
    "yaml.unsafe_load",
    "yaml.full_load",
    "os.system",
    "importlib.import_module",
    "hydra.utils.instantiate",
}


@pytest.mark.parametrize("path", FILES, ids=_module)
def test_nothing_is_run_that_comes_from_a_file(path: Path) -> None:
    for name, call in _calls(path):
        assert name not in FORBIDDEN_CALLS, f"{path}:{call.lineno}: {name}"
        if name in ("torch.load", "np.load"):
            safe = {k.arg: ast.unparse(k.value) for k in call.keywords}
            expected = (
                ("weights_only", "True") if name == "torch.load" else ("allow_pickle", "False")
            )
            assert safe.get(expected[0]) == expected[1], f"{path}:{call.lineno}: {name}"


@pytest.mark.parametrize("path", FILES, ids=_module)
def test_nothing_turns_the_protection_off(path: Path) -> None:
    for _, call in _calls(path):
        for keyword in call.keywords:
            value = (keyword.arg, ast.unparse(keyword.value))
            assert value not in {("weights_only", "False"), ("allow_pickle", "True")}


@pytest.mark.parametrize("path", [p for p in FILES if _is_under(_module(p), "src")], ids=_module)
def test_libraries_do_not_print(path: Path) -> None:
    if _module(path) != "gardenpath.console":
        assert "print" not in [name for name, _ in _calls(path)]


@pytest.mark.parametrize("name", ["train.py", "evaluate.py"])
def test_scripts_are_short(name: str) -> None:
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    assert len([line for line in lines if line.strip()]) <= 110
