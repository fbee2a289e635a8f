"""Where things belong: who may import whom, which names are taken, what code may never do."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
SCRIPTS = ("train.py", "evaluate.py", "playground.py")
FILES = sorted([*SOURCE.rglob("*.py"), *(ROOT / name for name in SCRIPTS)])
OURS = [path for path in FILES if path.is_relative_to(SOURCE)]

_BASICS = (
    *("errors", "units", "text", "encodings", "places", "versions", "safe_text", "python_process"),
    "fitted_table",
)
_CHECKS = ("settings.bounds", "settings.check")

# What each part of the package may import, beside itself. A module belongs to the part with the
# longest name.
PARTS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(_BASICS, _BASICS),
    **dict.fromkeys(_CHECKS, (*_BASICS, *_CHECKS)),
    "store": _BASICS,
    "data": (*_BASICS, *_CHECKS, "store"),
    "models": (*_BASICS, *_CHECKS, "store", "data"),
    "eval": (*_BASICS, *_CHECKS, "store", "data"),
    "settings": (*_BASICS, *_CHECKS, "store", "data", "models", "eval"),
    "console": (*_BASICS, "data"),
    "runs": (*_BASICS, *_CHECKS, "store", "data", "models", "eval", "settings", "console"),
    "tasks": (*_BASICS, *_CHECKS, "store", "data", "models", "eval", "settings", "console", "runs"),
    "playground": (
        *_BASICS,
        *_CHECKS,
        "store",
        "data",
        "models",
        "eval",
        "settings",
        "console",
        "runs",
    ),
    "sweeps": (*_BASICS, "settings", "console", "runs", "tasks"),
    "cli": (*_BASICS, "store", "settings", "console", "runs", "tasks", "sweeps"),
}

# The same for the parts of evaluation among each other.
EVAL: dict[str, tuple[str, ...]] = {
    "display": (),
    "word_scorer": (),
    "search": ("word_scorer",),
    "parsing": ("search",),
    "perplexity": ("display", "search", "word_scorer"),
    "usable": (),
    "suites": ("display", "search", "usable"),
    "statistics": ("display", "usable"),
    "published": ("suites",),
    "surprisal": ("published", "suites"),
    "report": ("display", "perplexity", "suites", "statistics", "usable"),
    "studies": ("display", "perplexity", "published", "report", "statistics", "suites"),
}

# Where a library may be imported.
_HYDRA = {"settings.compose", "settings.command", "sweeps", "cli"}
HOMES: dict[str, set[str]] = {
    "hydra": _HYDRA,
    "omegaconf": _HYDRA,
    "pytorch_lightning": {"models.training"},
    # Jobs are sent to processes of this machine; no file is read.
    "joblib": {"sweeps.local_jobs"},
    "starlette": {"playground"},
    "uvicorn": {"playground"},
    "submitit": {"sweeps.queued_jobs"},
    # Tells the operations of a pickle apart; they are carried out by a machine that runs nothing.
    "pickletools": {"models.word_lm.pickle_machine"},
    **{name: set() for name in ("pickle", "dill", "shelve", "marshal")},
}

FORBIDDEN_CALLS = {
    "eval", "exec", "compile", "__import__", "yaml.load", "yaml.unsafe_load", "yaml.full_load",
    "os.system", "os.popen", "joblib.load", "pd.read_pickle", "importlib.import_module",
    "hydra.utils.instantiate", "instantiate",
}  # fmt: skip
# The front door imports what it lists, and nothing else.
LAZY_IMPORTS = {("", "importlib.import_module")}

MOST_MODULES = 14
MOST_LINES_OF_A_TASK = 150
# Public names that several modules define: every task has a function of this name.
SHARED_NAMES = {"run": "tasks"}


def _module(path: Path) -> str:
    """``eval.search.beam``; empty for the front door."""
    parts = path.relative_to(SOURCE if path in OURS else ROOT).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


@cache
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


def _own_imports(path: Path) -> list[str]:
    found = [name.removeprefix("gardenpath.") for name in _imports(path) if _is_own(name)]
    return [name for name in found if name != "__version__"]


def _is_own(name: str) -> bool:
    return name.startswith("gardenpath.")


def _is_under(name: str, part: str) -> bool:
    return name == part or name.startswith(f"{part}.")


def _part(name: str, parts: dict[str, tuple[str, ...]]) -> str | None:
    """The part that a module belongs to."""
    return max((one for one in parts if _is_under(name, one)), key=len, default=None)


def _wrong_imports(path: Path, parts: dict[str, tuple[str, ...]], below: str = "") -> list[str]:
    module = _module(path).removeprefix(below)
    part = _part(module, parts)
    assert part is not None, f"{module} belongs to no part of the project"
    found = [name.removeprefix(below) for name in _own_imports(path) if name.startswith(below)]
    return [name for name in found if _part(name, parts) not in (part, *parts[part])]


@pytest.mark.parametrize("path", [path for path in OURS if _module(path)], ids=_module)
def test_imports_go_one_way(path: Path) -> None:
    assert _wrong_imports(path, PARTS) == []
    if _module(path).startswith("eval."):
        assert _wrong_imports(path, EVAL, "eval.") == []


@pytest.mark.parametrize("parts", [PARTS, EVAL], ids=["package", "eval"])
def test_the_tables_have_no_cycles(parts: dict[str, tuple[str, ...]]) -> None:
    """Part after part can be built on those before it; the basics count as one."""
    together = {*_BASICS, *_CHECKS}
    done: set[str] = set()
    while ready := {name for name in parts if {*parts[name]} - together <= done} - done:
        done |= ready
    assert done == set(parts)


def test_evaluation_may_import_no_more_than_it_does() -> None:
    used: dict[str, set[str]] = {name: set() for name in EVAL}
    for path in SOURCE.glob("eval/*/**/*.py"):
        part = str(_part(_module(path).removeprefix("eval."), EVAL))
        used[part] |= {name.split(".")[1] for name in _own_imports(path) if name[:5] == "eval."}
    assert {name: found - {name} for name, found in used.items()} == {
        name: set(allowed) for name, allowed in EVAL.items()
    }


@pytest.mark.parametrize("path", FILES, ids=_module)
def test_libraries_stay_where_they_belong(path: Path) -> None:
    module = _module(path)
    for name in _imports(path):
        homes = HOMES.get(name.split(".")[0])
        is_home = homes is None or any(_is_under(module, home) for home in homes)
        assert is_home, f"{module} imports {name}"


def _calls(path: Path) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node


@pytest.mark.parametrize("path", FILES, ids=_module)
def test_nothing_is_run_that_comes_from_a_file(path: Path) -> None:
    for name, call in _calls(path):
        place = f"{path}:{call.lineno}: {name}"
        assert name not in FORBIDDEN_CALLS or (_module(path), name) in LAZY_IMPORTS, place
        given = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
        assert given.get("weights_only") != "False" and given.get("allow_pickle") != "True", place
        if name == "torch.load":
            assert given.get("weights_only") == "True", place
        if name == "np.load":
            assert given.get("allow_pickle") == "False", place
        # User's text is parsed in one place, which bounds its nesting and its aliases.
        is_parser = name.startswith(("yaml.safe_load", "yaml.compose", "yaml.parse", "json.load"))
        assert not is_parser or _module(path) == "safe_text", place
        assert given.get("shell") != "True", place
        if name == "print":
            assert _module(path) == "console", place


def test_no_folder_is_overcrowded() -> None:
    modules = [path for path in OURS if path.name != "__init__.py"]
    sizes = Counter(path.parent.relative_to(ROOT).as_posix() for path in modules)
    assert {folder: size for folder, size in sizes.items() if size > MOST_MODULES} == {}


def test_no_module_has_the_name_of_another() -> None:
    modules = [path for path in OURS if path.name != "__init__.py"]
    names = Counter(path.stem for path in modules)
    assert [name for name, count in names.items() if count > 1] == []


def _public_names(path: Path) -> Iterator[str]:
    """Functions, classes, constants and type aliases at the top of a module."""
    for node in _tree(path).body:
        names: list[str] = []
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names = [node.name]
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            inner = (part for target in targets for part in ast.walk(target))
            names = [part.id for part in inner if isinstance(part, ast.Name)]
        yield from (name for name in names if not name.startswith("_"))


def test_public_names_are_defined_once() -> None:
    homes = defaultdict(set)
    for path in OURS:
        for name in _public_names(path):
            homes[name].add(_module(path))
    assert len(homes) > 500
    several = {name: sorted(found) for name, found in homes.items() if len(found) > 1}
    assert {
        name: found
        for name, found in several.items()
        if not all(_is_under(one, SHARED_NAMES.get(name, "?")) for one in found)
    } == {}


@pytest.mark.parametrize("path", sorted((SOURCE / "tasks").glob("*.py")), ids=_module)
def test_tasks_are_thin(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MOST_LINES_OF_A_TASK


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_are_thin(name: str) -> None:
    assert len((ROOT / name).read_text(encoding="utf-8").splitlines()) <= 50


@pytest.mark.parametrize("path", OURS, ids=_module)
def test_settings_are_not_looked_up_by_name(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert 'settings["' not in text and "settings['" not in text
