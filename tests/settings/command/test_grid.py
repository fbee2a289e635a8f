"""Grids of experiments: what is trained, and what the command line makes of it."""

from __future__ import annotations

import itertools

import pytest

from gardenpath.errors import ConfigError
from gardenpath.settings.command_line import (
    CommandLine,
    GridBlock,
    check_command_line,
    narrowed,
    read_grid,
)
from gardenpath.settings.compose import ConfigSource

GRID = read_grid(
    [
        {"data": ["a", "b"], "model": "ngram", "seed": 1},
        {"data": ["a", "b"], "model": ["lstm", "plm"], "seed": [1, 2, 3]},
        {"data": ["a", "b"], "model": "rnng", "seed": [1, 2]},
    ]
)


def _jobs(blocks: list[GridBlock]) -> list[tuple[tuple[str, str], ...]]:
    return [
        tuple(zip(block, values, strict=True))
        for block in blocks
        for values in itertools.product(*block.values())
    ]


def _found(**given: list[str]) -> set[str]:
    jobs = _jobs(narrowed(GRID, given))
    assert len(jobs) == len(set(jobs))
    return {"/".join(dict(job).values()) for job in jobs}


def test_without_other_values_all_jobs_remain() -> None:
    assert len(_found()) == 2 * (1 + 6 + 2)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"model": ["ngram"], "data": ["a"]}, {"a/ngram/1"}),
        ({"model": ["rnng"], "data": ["b"]}, {"b/rnng/1", "b/rnng/2"}),
        ({"seed": ["3"], "data": ["a"]}, {"a/lstm/3", "a/plm/3"}),
        ({"seed": ["1"], "model": ["lstm"]}, {"a/lstm/1", "b/lstm/1"}),
        ({"seed": ["7"], "model": ["rnng"], "data": ["c"]}, {"c/rnng/7"}),
        ({"model": ["new"], "data": ["a"]}, {"a/new/1", "a/new/2", "a/new/3"}),
        ({"data": ["c"], "model": ["lstm", "rnng"], "seed": ["2"]}, {"c/lstm/2", "c/rnng/2"}),
    ],
)
def test_values_select_or_replace(given: dict[str, list[str]], expected: set[str]) -> None:
    assert _found(**given) == expected


def test_other_settings_do_not_change_the_grid() -> None:
    assert narrowed(GRID, {"trainer.max_epochs": ["3"]}) == GRID


@pytest.mark.parametrize("content", [[], {"model": "lstm"}, ["lstm"], "lstm"])
def test_a_grid_that_is_none_is_a_mistake(content: object) -> None:
    with pytest.raises(ConfigError, match="_grid must be"):
        read_grid(content)


def _runs(*arguments: str) -> list[str]:
    line = CommandLine(ConfigSource("train"), list(arguments), is_sweep=True)
    jobs = []
    for sweep in line.sweeps():
        assert sweep.is_sweep
        values = [one.partition("=")[::2] for one in sweep.arguments if "hydra" not in one]
        names = [name for name, _ in values]
        for chosen in itertools.product(*(value.split(",") for _, value in values)):
            job = dict(zip(names, chosen, strict=True))
            jobs.append("/".join(job.get(name, "-") for name in ("data", "model", "seed")))
    return jobs


def test_the_grid_of_the_mandarin_study() -> None:
    """Wang et al. 2021: two seeds of rnng, three of other neural models, two corpora."""
    runs = _runs("experiment=mandarin")
    assert len(runs) == len(set(runs)) == 24
    for data in ("ctb", "xinhua"):
        for model, seeds in (
            ("ngram", 1),
            ("lstm", 3),
            ("transformer", 3),
            ("plm", 3),
            ("rnng", 2),
        ):
            expected = {f"{data}/{model}/{seed}" for seed in range(1, seeds + 1)}
            assert {one for one in runs if one.startswith(f"{data}/{model}/")} == expected


def test_the_grids_of_the_english_studies() -> None:
    assert sorted(_runs("experiment=reflexives")) == [
        "ptb/lstm/1", "ptb/rnng/1", "wikipedia/lstm/1", "wikipedia/ngram/1",
    ]  # fmt: skip
    assert _runs("experiment=filler_gap") == ["wikipedia/lstm/1"]


def test_the_command_line_wins() -> None:
    assert _runs("experiment=mandarin", "seed=1", "model=lstm", "data=ctb") == ["ctb/lstm/1"]
    given = ("experiment=reflexives", "data=ptb", "model=rnng", "seed=range(4,6)")
    assert _runs(*given) == ["ptb/rnng/4", "ptb/rnng/5"]


@pytest.mark.parametrize("experiment", ["mandarin", "reflexives", "filler_gap"])
def test_every_run_of_a_grid_is_right(experiment: str) -> None:
    check_command_line("train", ["-m", f"experiment={experiment}"])


def test_a_setting_of_some_models_is_for_them_alone() -> None:
    line = CommandLine(
        ConfigSource("train"), ["experiment=mandarin", "model.size=tiny"], is_sweep=True
    )
    sweeps = {sweep.arguments[-2]: sweep.arguments for sweep in line.sweeps()}
    assert "model.network.size=tiny" not in sweeps["model=ngram"]
    assert "model.network.size=tiny" in sweeps["model=rnng"]
    line.check()


@pytest.mark.parametrize(
    ("argument", "mistake"),
    [
        ("sede=3", "sede is not a setting; did you mean 'seed'?"),
        ("model.sizee=tiny", "model.sizee is not a setting"),
        ("model=lsmt", "unknown model 'lsmt'; did you mean 'lstm'?"),
        ("seed=-1", "seed=-1: must be in"),
        ("model.size=huge", "model.size=huge"),
    ],
)
def test_mistakes_are_found_before_the_first_job(argument: str, mistake: str) -> None:
    with pytest.raises(ConfigError, match=mistake.replace("?", r"\?")):
        check_command_line("train", ["-m", "experiment=mandarin", argument])
