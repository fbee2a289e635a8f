"""Code that computes log probabilities does not change unnoticed: stored ones would be stale."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gardenpath.models.family import FAMILIES
from gardenpath.models.sequential.family import LstmFamily
from gardenpath.runs import model as model_module
from tests.runs import scoring_code
from tests.runs.scoring_code import PLACES, essence
from tests.toy_runs import run_of

PIN = "then pin the code with 'python -m tests.runs.scoring_code'"


@pytest.fixture(scope="module")
def pinned() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(scoring_code.PINNED.read_text(encoding="utf-8"))
    return found


def test_the_versions_are_those_that_were_pinned(pinned: dict[str, Any]) -> None:
    assert scoring_code.versions() == pinned["versions"], f"a version was raised: {PIN}"


@pytest.mark.parametrize("name", scoring_code.MODULES)
def test_changed_code_asks_for_a_decision(name: str, pinned: dict[str, Any]) -> None:
    now = scoring_code.code()[name]
    changed = [path for path in now if now[path] != pinned["code"][name].get(path)]
    where = PLACES.get(name, "scores_version of the family")
    assert now == pinned["code"][name], (
        f"{', '.join(changed) or 'a removed module'} has changed: if log probabilities can differ, "
        f"raise {where}; {PIN}"
    )


def test_numbers_are_those_that_were_pinned(pinned: dict[str, Any]) -> None:
    changed = scoring_code.differences(pinned, {"numbers": scoring_code.numbers()})
    assert changed == [], f"log probabilities have changed: raise a version; {PIN}"


def test_comments_docstrings_and_imports_do_not_count() -> None:
    one = 'import a\n\ndef f(x: int) -> int:\n    """Add."""\n    return x + 1  # one\n'
    other = "import b\nfrom c import d\n# more\ndef f(x: int) -> int:\n    return x  + 1\n"
    assert essence(one) == essence(other) == "deff(x:int)->int:returnx+1"
    assert essence(one.replace("+ 1", "+ 2")) != essence(one)


def test_changed_numbers_are_not_pinned_without_a_new_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pinned: dict[str, Any]
) -> None:
    file = tmp_path / "pinned.json"
    file.write_text(json.dumps(pinned), encoding="utf-8")
    monkeypatch.setattr(scoring_code, "PINNED", file)
    others = {**pinned["numbers"], "ngram, beam": [[-1.0] * 4, [-1.0] * 6, [-1.0] * 2]}
    monkeypatch.setattr(scoring_code, "numbers", lambda: others)
    assert "raise a version first" in str(scoring_code.pin())
    monkeypatch.setattr(scoring_code, "versions", lambda: {**pinned["versions"], "ngram": 2})
    assert scoring_code.pin() is None
    assert json.loads(file.read_text(encoding="utf-8"))["numbers"] == others


def test_the_key_changes_with_the_version_of_the_code(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def keys() -> dict[str, str]:
        return {one: run_of(folder, one).model_key for one in ("ngram", "lstm", "rnng")}

    before = keys()
    monkeypatch.setattr(LstmFamily, "scores_version", FAMILIES["lstm"].scores_version + 1)
    after = keys()
    assert [one for one in before if before[one] != after[one]] == ["lstm"]
    monkeypatch.setattr(model_module, "WORDS_VERSION", 1000)
    assert all(keys()[one] != before[one] for one in before)
