"""``task=suites``: what there is, and how it leaves the house."""

from __future__ import annotations

from pathlib import Path

import pytest

from gardenpath.console import console
from gardenpath.eval.suites.library import load_suites, suite_names
from gardenpath.eval.suites.suite import SuiteError
from gardenpath.settings.compose import load_settings
from gardenpath.tasks import run_task


def test_all_suites_are_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "width", 200)
    run_task(load_settings("evaluate", ["task=suites", f"output={tmp_path}", "task.examples=true"]))
    shown = capsys.readouterr().out
    assert all(name in shown for name in suite_names())
    assert list(tmp_path.iterdir()) == []


def test_the_list_fits_a_screen(capsys: pytest.CaptureFixture[str]) -> None:
    run_task(load_settings("evaluate", ["task=suites"]))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 40 and max(map(len, lines)) <= 80
    for name in suite_names():
        assert any(f" {name.rpartition('/')[0]} " in line for line in lines), name


def test_one_suite_or_class_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    run_task(load_settings("evaluate", ["task=suites", "task.show=reflexives/toy"]))
    shown = capsys.readouterr().out
    assert "prediction: " in shown and "himself" in shown and "first item:" in shown
    run_task(load_settings("evaluate", ["task=suites", "task.show=mandarin/verb_noun"]))
    shown = capsys.readouterr().out
    assert all(name in shown for name in suite_names() if name.startswith("mandarin/verb_noun/"))
    with pytest.raises(SuiteError, match="reflexives/toy"):
        arguments = ["task=suites", "suite=toy_english", "task.show=reflexives/toi"]
        run_task(load_settings("evaluate", arguments))


def test_a_few_with_examples(capsys: pytest.CaptureFixture[str]) -> None:
    run_task(load_settings("evaluate", ["task=suites", "suite=toy_english", "task.examples=true"]))
    shown = capsys.readouterr().out
    assert "reflexives/toy" in shown and "himself" in shown and "mandarin" not in shown


@pytest.mark.parametrize("form", ["syntaxgym", "compact", "text"])
def test_exports(tmp_path: Path, form: str) -> None:
    arguments = ["task=suites", "suite=toy_english", f"task.export={form}", f"output={tmp_path}"]
    run_task(load_settings("evaluate", arguments))
    files = sorted((tmp_path / "suites").iterdir())
    originals = sorted(load_suites(["reflexives/toy", "center_embedding/toy", "islands/toy",
                                    "filler_gap/toy"]), key=lambda suite: suite.name)  # fmt: skip
    assert [path.stem for path in files] == [one.name.replace("/", "_") for one in originals]
    for path, original in zip(files, originals, strict=True):
        if form == "text":
            lines = path.read_text(encoding="utf-8").splitlines()
            assert tuple(dict.fromkeys(tuple(x.split()) for x in lines)) == original.sentences
        else:
            (again,) = load_suites(str(path))
            assert again.sentences == original.sentences
            assert len(again.items) == len(original.items)
