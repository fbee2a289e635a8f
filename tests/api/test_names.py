"""The names of the package: each resolves, for programs as for type checkers, and lazily."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import gardenpath as gp

SOURCE = Path(gp.__file__)
PUBLIC = [name for name in gp.__all__ if name != "__version__"]


def _for_type_checkers() -> dict[str, str]:
    """Names in the block of imports that only type checkers read, with their modules."""
    blocks = [
        node
        for node in ast.parse(SOURCE.read_text(encoding="utf-8")).body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    found = {}
    for node in blocks[0].body:
        assert isinstance(node, ast.ImportFrom) and node.module is not None
        for alias in node.names:
            assert alias.asname == alias.name, "marked as exported"
            found[alias.name] = node.module.removeprefix("gardenpath.")
    return found


def test_type_checkers_see_the_names_that_programs_see() -> None:
    assert _for_type_checkers() == gp._HOMES


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_resolves_to_what_its_module_defines(name: str) -> None:
    value = getattr(gp, name)
    assert value.__module__ == f"gardenpath.{gp._HOMES[name]}"
    assert value.__name__ == name and value.__doc__
    assert getattr(gp, name) is value


def test_names_are_listed_and_unknown_ones_are_errors() -> None:
    assert set(dir(gp)) == set(gp.__all__) and len(gp.__all__) == len(set(gp.__all__))
    assert "__version__" in gp.__all__ and gp.__version__
    with pytest.raises(AttributeError, match="module 'gardenpath' has no attribute 'lod'"):
        _ = gp.lod


def _loaded_after(statement: str, *modules: str) -> list[str]:
    code = f"import sys\nimport gardenpath as gp\n{statement}\n"
    code += f"print(*(name for name in {modules!r} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_nothing_is_imported_before_it_is_used() -> None:
    heavy = ("torch", "numpy", "pandas", "hydra", "omegaconf", "scipy", "matplotlib", "rich")
    assert _loaded_after("dir(gp)", *heavy) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "statement",
    [
        "gp.suites('reflexives/toy')",
        "gp.load; gp.find; gp.evaluate; gp.TrainSettings; gp.WordSync",
        "suites = gp.suites('reflexives/toy')\n"
        "words = {s: [1.0] * len(s) for suite in suites for s in suite.sentences}\n"
        "gp.score(suites, {'mine': words}).summary",
    ],
)
def test_what_needs_no_model_needs_no_torch(statement: str) -> None:
    heavy = ("torch", "pytorch_lightning", "matplotlib", "nltk")
    assert _loaded_after(statement, *heavy) == []


def test_all_names_can_be_imported_at_once() -> None:
    code = "from gardenpath import *\nassert callable(load) and callable(evaluate) and Suite"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
