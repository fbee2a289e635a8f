"""The jobs of a sweep, and the folders that each of them writes."""

from __future__ import annotations

import pytest

from gardenpath import sweeps as module
from gardenpath.errors import ConfigError
from gardenpath.settings.command_line import CommandLine
from gardenpath.settings.compose import ConfigSource, Script, composed
from gardenpath.sweeps import sweep_jobs

RATES = "model.optimiser.learning_rate=1e-2,1e-5"


def _targets(*arguments: str, script: Script = "train") -> list[str]:
    line = CommandLine(ConfigSource(script), list(arguments), is_sweep=True)
    return [job.target for job in sweep_jobs(line)]


def test_settings_that_differ_are_in_the_names_of_folders() -> None:
    assert _targets(RATES, "model=lstm,rnng") == [
        "runs/toy_english/lstm/learning_rate=0.01/seed1",
        "runs/toy_english/rnng/learning_rate=0.01/seed1",
        "runs/toy_english/lstm/learning_rate=1e-5/seed1",
        "runs/toy_english/rnng/learning_rate=1e-5/seed1",
    ]
    assert _targets("trainer=cpu,auto") == [
        "runs/toy_english/lstm/trainer=cpu/seed1", "runs/toy_english/lstm/trainer=auto/seed1",
    ]  # fmt: skip


def test_folders_of_corpora_models_and_seeds_are_as_they_were() -> None:
    found = _targets("data=toy_english,toy_mandarin", "model=lstm", "model.size=tiny", "seed=1,2")
    corpora = ("toy_english", "toy_mandarin")
    assert found == [f"runs/{data}/lstm/seed{seed}" for data in corpora for seed in (1, 2)]
    assert _targets("experiment=reflexives") == [
        "runs/reflexives/ptb/lstm/seed1",
        "runs/reflexives/ptb/rnng/seed1",
        "runs/reflexives/wikipedia/ngram/seed1",
        "runs/reflexives/wikipedia/lstm/seed1",
    ]


def test_a_job_keeps_its_folder_if_values_are_added() -> None:
    more = _targets("model.optimiser.learning_rate=0.5,1e-5,0.01,3", "seed=1,2,3")
    assert set(_targets(RATES, "seed=1,2")) < set(more)


def test_settings_of_a_grid_are_named_whichever_blocks_are_run() -> None:
    given = ("experiment=mandarin", "trainer.max_epochs=1,2")
    assert set(_targets(*given, "model=lstm")) < set(_targets(*given))


@pytest.mark.parametrize(
    "arguments",
    [("run_dir=here", "seed=1,2"), ("model.optimiser.learning_rate=1e-2,0.01",), ("seed=1,1",)],
)
def test_jobs_that_would_share_a_folder_are_refused(arguments: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError, match=r"2 jobs would write .*; list each value once"):
        _targets(*arguments)


def test_a_folder_of_ones_own_may_name_the_settings() -> None:
    found = _targets(RATES, "run_dir=out/${_variant}seed${seed}", "seed=1")
    assert found == ["out/learning_rate=0.01/seed1", "out/learning_rate=1e-5/seed1"]


def test_evaluations_write_folders_of_their_own() -> None:
    found = _targets("run=runs/a,runs/b", "suite=demo,mandarin", "output=out", script="evaluate")
    assert found == [f"out/run=runs+{run}/{s}" for run in "ab" for s in ("demo", "mandarin")]
    assert _targets("suite=demo,mandarin", script="evaluate") == [
        "results/demo",
        "results/mandarin",
    ]
    with pytest.raises(ConfigError, match=r"2 jobs would write all.tsv: .* leave task.file= out"):
        _targets("task=surprisal", "input=x", "task.file=all.tsv", "run=a,b", script="evaluate")


def test_hundreds_of_jobs_compose_only_their_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[object] = []

    def counted(source: ConfigSource, overrides: tuple[str, ...]) -> object:
        calls.append(overrides)
        return composed(source, overrides)

    monkeypatch.setattr(module, "composed", counted)
    seeds = ",".join(map(str, range(1, 61)))
    rates = "model.optimiser.learning_rate=0.1,0.2,0.3"
    found = _targets("model=lstm,rnng", "data=toy_english,toy_mandarin", f"seed={seeds}", rates)
    assert len(set(found)) == 720 and len(calls) == 4
