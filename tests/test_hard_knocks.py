"""The kill campaign: its short version, and that it notices what went wrong."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

from benchmarks.hard_knocks import STAGES, Stage, contents, knock, leftovers

# A job that goes on where it was killed, one line at a time.
_JOB = """
import sys, time
from pathlib import Path
place = Path(sys.argv[1])
place.parent.mkdir(exist_ok=True)
for number in range(10):
    lines = place.read_text().splitlines() if place.exists() else []
    if str(number) not in lines:
        new = place.parent / ".new.part"
        new.write_text("".join(line + chr(10) for line in [*lines, str(number)]))
        new.rename(place)
    time.sleep(0.03)
"""


def test_the_stages_are_those_promised() -> None:
    names = [stage.name for stage in STAGES]
    assert names == ["preparation", "training", "steps", "surprisal", "suite", "report", "sweep"]


def test_a_job_that_goes_on_is_equal(tmp_path: Path) -> None:
    def command(_common: Path, folder: Path) -> list[str]:
        return [sys.executable, "-c", _JOB, str(folder / "out" / "lines.txt")]

    outcome = knock(Stage("lines", command, ("out",)), 3, seed=1, work=tmp_path, say=lambda _: None)
    assert outcome.is_good and outcome.kills == outcome.restarts == 3
    assert outcome.compared == 1 and outcome.left_out == []


@pytest.mark.slow
def test_differences_and_leftovers_are_found(tmp_path: Path) -> None:
    """A job that cannot go on writes something else after a kill."""
    program = (
        "import sys, time; from pathlib import Path\n"
        "place = Path(sys.argv[1]); place.mkdir(exist_ok=True)\n"
        "seen = (place / '.seen').exists(); (place / '.seen').touch()\n"
        "time.sleep(0.5)\n"
        "(place / 'out.txt').write_text('again' if seen else 'first')\n"
        "if seen: (place / '.out.txt.part').touch()\n"
    )

    def command(_common: Path, folder: Path) -> list[str]:
        return [sys.executable, "-c", program, str(folder / "out")]

    outcome = knock(Stage("bad", command, ("out",)), 2, seed=1, work=tmp_path, say=lambda _: None)
    assert not outcome.is_good and outcome.equal < outcome.rounds
    assert set(outcome.different) == {"out/out.txt"}
    assert "out/.out.txt.part" in outcome.leftovers


def test_times_are_not_compared(tmp_path: Path) -> None:
    for folder, value in (("a", 1), ("b", 2)):
        (tmp_path / folder / "run").mkdir(parents=True)
        place = tmp_path / folder / "run"
        (place / "result.json").write_text(f'{{"loss": 3, "seconds": {value}}}', encoding="utf-8")
        (place / "metrics.csv").write_text(f"epoch,seconds\n0,{value}\n", encoding="utf-8")
        (place / "train.log").write_text(str(random.random()), encoding="utf-8")
    one, other = (contents(tmp_path / folder, ("run",)) for folder in "ab")
    assert one == other and set(one) == {"run/result.json", "run/metrics.csv"}
    assert leftovers(tmp_path) == []
