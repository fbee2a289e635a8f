"""Every command of the README and of docs/ runs on stand-ins, page by page, in its order."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.documented import stand_ins
from tests.documented.pages import PAGES, ROOT, ShellLine, shell_lines, titled_files
from tests.documented.running import (
    IN_STOCK,
    NOT_RUN,
    SMALLER,
    STAND_INS,
    reason_not_to_run,
    run_line,
)
from tests.tiers import built_once, slow_unless

_PATHS = [ROOT / "README.md", *PAGES]
LINES = {path: shell_lines(path, path.relative_to(ROOT).as_posix()) for path in _PATHS}
RUN = {
    path: [line for line in lines if reason_not_to_run(line) is None]
    for path, lines in LINES.items()
}
CHECKED = [line for lines in LINES.values() for line in lines if reason_not_to_run(line)]

# Commands that a page shows because they fail, with a part of their message.
FAILING = {"python train.py modle=lstm seed=abc model.size=tinny": "3 mistakes"}

# Pages that lead from zero to a result: only these stand-ins are there when they begin.
FRESH = {
    "docs/quickstart.md": ("my_corpus",),
    "docs/own_stimuli.md": ("gpt2",),
    "docs/own_corpus.md": ("my_text", "my_corpus", "sentences.txt"),
}

# Pages with a command of each kind, which are run in the fast tier.
SMOKE = ("corpora.md", "r.md", "sharing.md", "surprisal.md")


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with all stand-ins, which is made once."""
    folder = built_once(tmp_path_factory, "documented", lambda new: stand_ins.build(new / "all"))
    return folder / "all"


@pytest.mark.parametrize(
    "path",
    slow_unless(lambda path: path.name in SMOKE, [path for path, lines in RUN.items() if lines]),
    ids=lambda path: path.relative_to(ROOT).as_posix(),
)
def test_the_commands_of_a_page_run(
    path: Path, template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = path.relative_to(ROOT).as_posix()
    folder = stand_ins.copied(template, tmp_path / "work", only=FRESH.get(page))
    monkeypatch.chdir(folder)
    stand_ins.use_corpora(monkeypatch, folder)
    for name, text in titled_files(path.read_text(encoding="utf-8")).items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text, encoding="utf-8")
    problems = []
    for line in RUN[path]:
        problem = _problem(line)
        problems += [problem] if problem else []
    assert problems == [], "\n\n".join(problems)


def _problem(line: ShellLine) -> str:
    expected = FAILING.get(line.text)
    outcome = run_line(line, in_stock=line.page not in FRESH)
    is_right = outcome.code == 0 if expected is None else expected in outcome.printed
    if is_right and (expected is None or outcome.code == 2):
        return ""
    return f"{line}\nran as {outcome.command}\nexit code {outcome.code}: {outcome.printed[-1500:]}"


@pytest.mark.slow
@pytest.mark.parametrize("line", CHECKED, ids=lambda line: f"{line.page}: {line}")
def test_commands_that_are_not_run_are_checked(
    line: ShellLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    # Commands for GPUs are right on a machine that has them.
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 8)
    chosen = reason_not_to_run(line)
    assert chosen is not None and chosen.reason
    chosen.check(line, tmp_path)


def test_every_reason_and_every_substitution_is_needed() -> None:
    reasons = [reason_not_to_run(line) for lines in LINES.values() for line in lines]
    stale = [one.where for one in NOT_RUN if one not in reasons]
    steps = [step for lines in RUN.values() for line in lines for step in line.steps()]
    texts = [" ".join(step.words) for step in steps]
    substitutions = (*STAND_INS, *SMALLER, *IN_STOCK)
    stale += [one.where for one in substitutions if not any(map(one.concerns, texts))]
    stale += [text for text in FAILING if text not in texts]
    stale += [page for page in FRESH if not (ROOT / page).is_file()]
    assert stale == []
