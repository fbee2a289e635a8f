"""Where things belong: who may import whom, how large rooms are, what code may never do."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
SCRIPTS = ("train.py", "evaluate.py", "playground.py")
FILES = sorted([*SOURCE.rglob("*.py"), *(ROOT / name for name in SCRIPTS)])
OURS = [path for path in FILES if path.is_relative_to(SOURCE)]
MODULES = [path for path in OURS if path.name != "__init__.py"]

# The parts of the core, from the ground up: each may import those before it. Imports inside
# functions and under TYPE_CHECKING count. The front door (src/__init__.py) is no layer.
LAYERS = (
    ("errors", "util", "safe_text", "registry", "workers"),
    ("settings.schema", "store"),
    ("data",),
    ("console",),
    ("models", "eval"),
    ("settings",),
    ("runs",),
    ("tasks",),
    ("sweeps",),
    ("cli",),
)
# Models and evaluation meet through a Protocol only.
STRANGERS = {("models", "eval"), ("eval", "models")}
# Packages beside the core: found through the registry, imported by nothing in the core.
BESIDE = ("adopted", "annotate", "playground", "sharing", "studies")

MOST_MODULES = 160
MOST_FOLDERS = 35
LEAST_LINES_OF_A_FOLDER = 600
LEAST_LINES_FOR_ONE_IMPORTER = 150

# Where a library may be imported.
_HYDRA = {"settings.compose", "sweeps", "cli"}
HOMES: dict[str, set[str]] = {
    "hydra": _HYDRA,
    "omegaconf": _HYDRA,
    "pytorch_lightning": {"models.training"},
    "joblib": set(),
    "starlette": {"playground"},
    "uvicorn": {"playground"},
    "submitit": {"sweeps"},
    # Tells the operations of a pickle apart; they are carried out by a machine that runs nothing.
    "pickletools": {"adopted.pickles"},
    **{name: set() for name in ("pickle", "dill", "shelve", "marshal")},
}

FORBIDDEN_CALLS = {
    "eval", "exec", "compile", "__import__", "yaml.load", "yaml.unsafe_load", "yaml.full_load",
    "os.system", "os.popen", "joblib.load", "pd.read_pickle", "importlib.import_module",
    "hydra.utils.instantiate", "instantiate",
}  # fmt: skip
# The front door imports what it lists, the registry what its tables list, and nothing else.
LAZY_IMPORTS = {("", "importlib.import_module"), ("registry", "importlib.import_module")}


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


def _is_under(name: str, part: str) -> bool:
    return name == part or name.startswith(f"{part}.")


@cache
def _graph() -> dict[str, set[str]]:
    """The modules of the package that each module imports, anywhere in it."""
    modules = {_module(path) for path in OURS} - {""}
    graph = {}
    for path in OURS:
        names = {name.removeprefix("gardenpath.") for name in _imports(path)}
        graph[_module(path)] = {
            name if name in modules else name.rpartition(".")[0] for name in names
        } & modules - {_module(path)}
    del graph[""]
    return graph


def _layer(module: str) -> int:
    """The layer with the longest name that the module is under."""
    names = {name: number for number, layer in enumerate(LAYERS) for name in layer}
    found = max((name for name in names if _is_under(module, name)), key=len, default=None)
    assert found is not None, f"{module} belongs to no layer"
    return names[found]


def _reached(graph: dict[str, set[str]], start: str) -> set[str]:
    reached: set[str] = set()
    open_names = [start]
    while open_names:
        new = graph[open_names.pop()] - reached
        reached |= new
        open_names += new
    return reached


def test_imports_go_one_way() -> None:
    offenders = []
    for module, imported in _graph().items():
        part = module.split(".")[0]
        for name in sorted(imported):
            other = name.split(".")[0]
            if part in BESIDE:
                wrong = False
            elif other in BESIDE:
                wrong = True
            else:
                wrong = _layer(name) > _layer(module) or (part, other) in STRANGERS
            offenders += [f"{module} imports {name}"] if wrong else []
    reached = {module: _reached(_graph(), module) for module in _graph()}
    offenders += [
        f"{module} and {name} import each other across folders"
        for module in _graph()
        for name in reached[module]
        if module in reached[name] and module.rpartition(".")[0] < name.rpartition(".")[0]
    ]
    assert offenders == []


def test_rooms_are_large_enough() -> None:
    lines = {path: path.read_text(encoding="utf-8").count("\n") for path in MODULES}
    folders = defaultdict(list)
    for path in MODULES:
        folders[path.parent].append(path)
    offenders = [
        f"{folder} has {len(paths)} modules and {sum(map(lines.__getitem__, paths))} lines"
        for folder, paths in folders.items()
        if folder != SOURCE
        and (len(paths) < 2 or sum(map(lines.__getitem__, paths)) < LEAST_LINES_OF_A_FOLDER)
    ]
    importers = Counter(name for imported in _graph().values() for name in imported)
    offenders += [
        f"{_module(path)} has {count} lines and a single importer"
        for path, count in lines.items()
        if count < LEAST_LINES_FOR_ONE_IMPORTER and importers[_module(path)] == 1
    ]
    assert offenders == []
    assert len(MODULES) <= MOST_MODULES and len(folders) <= MOST_FOLDERS


def test_libraries_stay_where_they_belong() -> None:
    offenders = []
    for path in FILES:
        for name in _imports(path):
            homes = HOMES.get(name.split(".")[0])
            if homes is not None and not any(_is_under(_module(path), home) for home in homes):
                offenders.append(f"{_module(path)} imports {name}")
    assert offenders == []


def _mistakes(path: Path, name: str, call: ast.Call) -> Iterator[str]:
    module = _module(path)
    given = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
    if name in FORBIDDEN_CALLS and (module, name) not in LAZY_IMPORTS:
        yield "is forbidden"
    if given.get("weights_only") == "False" or given.get("allow_pickle") == "True":
        yield "reads pickles"
    if name == "torch.load" and given.get("weights_only") != "True":
        yield "needs weights_only=True"
    if name == "np.load" and given.get("allow_pickle") != "False":
        yield "needs allow_pickle=False"
    # User's text is parsed in one place, which bounds its nesting and its aliases.
    is_parser = name.startswith(("yaml.safe_load", "yaml.compose", "yaml.parse", "json.load"))
    if is_parser and module != "safe_text":
        yield "belongs in safe_text"
    if given.get("shell") == "True":
        yield "runs a shell"
    if name == "print" and module != "console":
        yield "belongs in console"


def test_nothing_is_run_that_comes_from_a_file() -> None:
    calls = [
        (path, ast.unparse(node.func), node)
        for path in FILES
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.Call)
    ]
    offenders = [
        f"{path}:{call.lineno}: {name} {mistake}"
        for path, name, call in calls
        for mistake in _mistakes(path, name, call)
    ]
    texts = {path: path.read_text(encoding="utf-8") for path in OURS}
    offenders += [
        f"{path}: settings are not looked up by name"
        for path, text in texts.items()
        if 'settings["' in text or "settings['" in text
    ]
    offenders += [
        f"{name} has more than 50 lines"
        for name in SCRIPTS
        if len((ROOT / name).read_text(encoding="utf-8").splitlines()) > 50
    ]
    assert offenders == []
