"""Command lines: every mistake at once, before any data is read."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import pytest
import torch
from omegaconf import DictConfig

from gardenpath.errors import ConfigError
from gardenpath.playground.settings import PlaygroundSettings
from gardenpath.settings import compose
from gardenpath.settings.compose import (
    CommandLine,
    ConfigSource,
    GridBlock,
    Script,
    composed,
    narrowed,
    read_grid,
)
from gardenpath.settings.evaluate import EvaluateSettings
from gardenpath.settings.schema import Tagged, explanations
from gardenpath.settings.train import TrainSettings
from tests.integration.commands import check_command_line


def _mistakes(*arguments: str, script: Script = "train") -> list[str]:
    with pytest.raises(ConfigError) as caught:
        check_command_line(script, list(arguments))
    return caught.value.mistakes


RIGHT: list[list[str]] = [
    [],
    ["model=lstm", "data=ptb_sample", "seed=3"],
    ["-m", "model=lstm,transformer", "seed=1,2,3"],
    ["-m", "seed=range(1,4)", "data=toy_english,toy_mandarin"],
    ["-m", "model.optimiser.learning_rate=interval(1e-4,1e-2)"],
    ["-m", "model=glob(*)"],
    ["experiment=demo", "model=ngram"],
    ["trainer.precision=32"],
    ["hydra.verbose=true"],
    ["hydra/job_logging=default"],
    ["data=ptb", "data.root=/some where/else"],
    ["model.network.layers=null"],
]


@pytest.mark.slow
@pytest.mark.parametrize("arguments", RIGHT)
def test_right_command_lines_pass(arguments: list[str]) -> None:
    check_command_line("train", arguments)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("argument", "mistake"),
    [
        ("model=lsmt", "unknown model 'lsmt'; did you mean 'lstm'?"),
        ("data=ptb_smaple", "did you mean 'ptb_sample'?"),
        ("trainer=tpu", "unknown trainer 'tpu'; did you mean"),
        ("logger=tensorboard", "valid: none, wandb"),
        ("experiment=dmo", "did you mean 'demo'?"),
        ("sede=3", "sede is not a setting; did you mean 'seed'?"),
        ("model.network.hiden=3", "did you mean 'model.network.hidden'?"),
        ("model.optimizer.learning_rate=1", "did you mean 'model.optimiser.learning_rate'?"),
        ("trainer.epochs=3", "did you mean 'trainer.max_epochs'?"),
        ("zzz=1", "zzz is not a setting; valid: "),
        ("+note=anything", "note is not a setting"),
        ("model.network.dropout=1.5", "model.network.dropout=1.5: must be in [0, 1)"),
        ("model.network.layers=0", "model.network.layers=0: must be at least 1"),
        ("model.network.layers=2.0", "must be a whole number"),
        ("model.size=huge", "model.size=huge: valid: tiny, small, base"),
        ("model.name=null", "model.name is missing"),
        ("model.optimiser.algorithm=adam", "did you mean 'adamw'?"),
        ("model.optimiser.learning_rate=fast", "must be a number"),
        ("model.optimiser.warmup_steps=5", "schedule=plateau does not support warmup"),
        ("model.batches.max_tokens=-1", "must be at least 1"),
        ("model.network.tied=maybe", "must be true or false"),
        ("trainer.precision=33", "trainer.precision=33: valid: auto, 32, 64"),
        ("trainer.max_epochs=0", "must be at least 1"),
        ("data.language=fr", "data.language=fr"),
        ("data.min_count=0", "data.min_count=0: must be at least 1"),
        ("data.cleaning.max_tokens=none", "must be a whole number"),
        ("data.subwords.algorithm=wordpiece", "data.subwords.algorithm=wordpiece"),
        ("data.reader.train=many", "data.reader.train=many: must be a whole number"),
        ("data.reader.kind=toi", "data.reader.kind=toi: did you mean 'toy'?"),
        ("model.family=lsmt", "model.family=lsmt: did you mean 'lstm'?"),
        ("logger.kind=wandbb", "logger.kind=wandbb: did you mean 'wandb'?"),
        ("seed=-1", "seed=-1: must be in [0, 4294967295]"),
        ("seed=5000000000", "seed=5000000000: must be in [0, 4294967295]"),
        ("seed=one", "seed=one: must be a whole number"),
        ("resume=true", "resume is not a setting; valid: model, seed, existing"),
        ("existing=1", "existing=1: valid: skip, resume, overwrite, refuse"),
        ("run_dir=null", "run_dir is missing"),
        ("paths.runs=[1]", "paths.runs=[1]: must be text"),
        ("paths=3", "unknown paths '3'; valid: default"),
        ("nonsense", "'nonsense' is not a setting; write name=value"),
        ("~model.family", "~model.family: settings cannot be deleted; set model.family=null"),
        ("model@foo=rnng", "model@foo=rnng: write model=rnng"),
        ("suite=mandarin", "suite= belongs to evaluate.py; train.py takes data, experiment,"),
        ("analysis=licensing", "analysis= cannot be chosen; train.py takes data"),
        ("model=lstm,rnng", "model=lstm,rnng: several values are a sweep; add -m"),
        ("seed=1,2", "seed=1,2: several values are a sweep; add -m"),
    ],
)
def test_single_mistakes(argument: str, mistake: str) -> None:
    (found,) = (
        set(_mistakes(argument)) if argument != "paths.runs=[1]" else {_mistakes(argument)[0]}
    )
    assert mistake in found


def test_settings_of_another_model_are_unknown() -> None:
    (found,) = _mistakes("model=ngram", "model.optimiser.learning_rate=1")
    assert found.startswith("model.optimiser.learning_rate is not a setting")


def test_a_family_needs_its_own_settings() -> None:
    found = _mistakes("model=lstm", "model.family=transformer")
    assert any(mistake.startswith("model.network.embedding is not a setting") for mistake in found)


def test_a_model_without_a_network_has_no_size() -> None:
    (found,) = _mistakes("model=unigram", "model.size=tiny")
    assert found == (
        "model.size is not a setting of model=unigram, which has no network; leave it out"
    )


def test_combinations_of_settings_are_checked() -> None:
    (tied,) = _mistakes("model.network.tied=true", "model.network.embedding=100")
    assert "tied=true needs embedding (100) and hidden (256) to be equal" in tied
    (heads,) = _mistakes("model=transformer", "model.network.heads=7")
    assert "hidden (768) must be a multiple of heads (7)" in heads


def test_all_mistakes_of_a_command_line_at_once() -> None:
    found = _mistakes(
        "data=ptb_smaple",
        "model.network.dropout=2",
        "model.network.hiden=5",
        "trainer.max_epoch=3",
        "seed=-4",
        "what",
    )
    expected = ["ptb_sample", "dropout=2", "hiden", "max_epochs", "seed=-4", "'what'"]
    assert len(found) == len(expected)
    for part in expected:
        assert len([mistake for mistake in found if part in mistake]) == 1


@pytest.mark.slow
def test_what_depends_on_a_wrong_choice_is_not_judged() -> None:
    (found,) = _mistakes("model=transfromer", "model.network.heads=2", "seed=1")
    assert found == "unknown model 'transfromer'; did you mean 'transformer'?"


def test_sweeps_are_checked_in_every_combination() -> None:
    found = _mistakes("-m", "model=lstm,trnsformer,ngrm", "seed=1,-2")
    assert len(found) == 3
    assert any("did you mean 'transformer'?" in mistake for mistake in found)
    assert any("did you mean 'ngram'?" in mistake for mistake in found)
    assert any("seed=-2" in mistake for mistake in found)


def test_a_sweep_reports_a_setting_that_only_one_of_its_models_has() -> None:
    (found,) = _mistakes("-m", "model=transformer,lstm", "model.network.heads=4")
    assert "model.network.heads is not a setting" in found


def test_a_sweep_reports_a_corpus_that_only_one_of_its_models_can_read() -> None:
    (found,) = _mistakes("-m", "model=lstm,rnng", "data=toy_english,text")
    assert "model=rnng learns from trees, but data=text has none" in found


def test_a_mistake_in_a_swept_value_is_named() -> None:
    (found,) = _mistakes("-m", "model.network.dropout=0.1,1.1,0.3")
    assert found.startswith("model.network.dropout=1.1")
    (found,) = _mistakes("-m", "model.network.dropout=interval(0.1,1.1)")
    assert found.startswith("model.network.dropout=1.1")


def _compositions(monkeypatch: pytest.MonkeyPatch, line: CommandLine) -> int:
    calls: list[ConfigSource] = []

    def counted(source: ConfigSource, overrides: Sequence[str]) -> DictConfig:
        calls.append(source)
        return composed(source, overrides)

    monkeypatch.setattr(compose, "composed", counted)
    line.check()
    return len(calls)


def test_a_single_job_is_composed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    line = CommandLine(ConfigSource("train"), ["model=rnng", "data=ptb_sample", "seed=3"])
    assert _compositions(monkeypatch, line) == 1


def test_a_sweep_costs_by_groups_and_not_by_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ["model=lstm,rnng", "seed=range(0,50)", "trainer.max_epochs=1,2,3"]
    many = _compositions(monkeypatch, CommandLine(ConfigSource("train"), arguments, is_sweep=True))
    few = _compositions(
        monkeypatch,
        CommandLine(ConfigSource("train"), ["model=lstm,rnng", "seed=1,2"], is_sweep=True),
    )
    assert many == few <= 4


@pytest.mark.slow
@pytest.mark.parametrize(
    ("argument", "mistake"),
    [
        ("task=perplexty", "did you mean 'perplexity'?"),
        ("task.split=tset", "task.split=tset: did you mean 'test'?"),
        ("runs=x", "runs is not a setting; did you mean 'run'?"),
        ("outptu=x", "did you mean 'output'?"),
        ("suite=mandrin", "did you mean 'mandarin'?"),
        ("suite=file", "suite: name files, as in 'suite.suites=[mine.yaml]'"),
        ("search=word_snyc", "did you mean 'word_sync'?"),
        ("task=suite", "suite is missing: try suite=mandarin, or list all suites with task=suites"),
        ("task=surprisal", "input is missing: a sentence, a file of sentences, or - for"),
        ("input=x.txt", "input is not a setting; "),
        ("trainer=cpu", "trainer= belongs to train.py; evaluate.py takes data, logger, model"),
        ("model=rnng", "model=rnng: is trained by train.py, not adopted"),
        ("search.kind=word_snyc", "search.kind=word_snyc: did you mean 'word_sync'?"),
        ("search.action_beam=0", "search.action_beam=0: must be at least 1"),
        ("search.fast_track=-1", "search.fast_track=-1: must be at least 0"),
        ("search.marginal=x", "search.marginal=x: valid: survivors, candidates"),
        ("search.stop=exhaust", "did you mean 'exhausted'?"),
        ("search.memory_gb=0", "search.memory_gb=0: must be at least"),
        ("search.bounded=maybe", "search.bounded=maybe: must be true or false"),
        ("task.split=dev", "task.split=dev: valid: train, valid, test"),
        ("task.marginal_sentences=-1", "must be at least 0"),
        ("device=gpu", "device=gpu: not a device; valid: auto, cpu, cuda"),
        ("paths.surprisals=[3]", "paths.surprisals=[3]: must be text"),
        ("run=null", "run is missing"),
        ("output=[a]", "output=[a]: must be text"),
    ],
)
def test_mistakes_of_an_evaluation(argument: str, mistake: str) -> None:
    (found,) = _mistakes(argument, script="evaluate")
    assert mistake in found


@pytest.mark.parametrize(
    ("task", "argument", "mistake"),
    [
        ("parse", "task.k_best=0", "task.k_best=0: must be at least 1"),
        ("parse", "task.sentences=0", "task.sentences=0: must be at least 1"),
        ("surprisal", "task.chunk=0", "task.chunk=0: must be at least 1"),
        ("surprisal", "task.end=no_end", "task.end=no_end: must be true or false"),
        ("surprisal", "task.file=[3]", "task.file=[3]: must be text"),
        ("suites", "task.export=json", "task.export=json: valid: syntaxgym, text, compact"),
        ("suite", "suite.items=0", "suite.items=0: must be at least 1"),
        ("suite", "suite.in_vocabulary=x", "suite.in_vocabulary=x: must be true or false"),
        ("suite", "task.ties=x", "task.ties=x: valid: near, exact"),
        ("suite", "task.ties=null", "task.ties=null: valid: near, exact"),
        ("suite", "task.tie_seed=-1", "task.tie_seed=-1: must be in [0, 4294967295]"),
        ("suite", "task.report=perhaps", "task.report=perhaps: must be true or false"),
        ("suite", "task.perplexity_sentences=abc", "must be a whole number"),
        ("corpus", "task.words=himself", "task.words=himself: must be a list"),
        ("rescore", "materials=true", "materials=true: must be text or must be a list"),
    ],
)
def test_mistakes_of_tasks(task: str, argument: str, mistake: str) -> None:
    needed = {
        "suite": ["suite=mandarin"],
        "rescore": ["suite=mandarin", "surprisals=there"],
        "surprisal": ["input=-"],
    }
    (found,) = _mistakes(f"task={task}", *needed.get(task, []), argument, script="evaluate")
    assert mistake in found


def test_a_mistake_in_a_file_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    own = tmp_path / "model" / "mine.yaml"
    own.write_text("defaults: [_lstm, _self_]\n\nname: mine\nnetwork: {hiden: 3, layers: 0}\n")
    line = CommandLine(ConfigSource("train", folder=str(tmp_path)), ["model=mine", "seed=-1"])
    with pytest.raises(ConfigError) as caught:
        line.settings()
    assert caught.value.mistakes == [
        f"{own}: model.network.hiden is not a setting; did you mean 'hidden'?",
        f"{own}: model.network.layers=0: must be at least 1",
        "seed=-1: must be in [0, 4294967295]",
    ]
    (tmp_path / "mine.yaml").write_text("defaults: [train, _self_]\n\nseed: -3\n")
    line = CommandLine(ConfigSource("train", "mine", str(tmp_path)), [])
    with pytest.raises(ConfigError, match=r"mine\.yaml: seed=-3: must be in"):
        line.settings()


@pytest.mark.parametrize(
    ("value", "folders"),
    [
        ("runs", ["runs"]),
        ("runs/a,runs/b", ["runs/a", "runs/b"]),
        ("[runs/a,runs/b]", ["runs/a", "runs/b"]),
        ("/my runs/a,b", ["/my runs/a", "b"]),
        ("'a,b'", ["a,b"]),
    ],
)
def test_several_folders_of_runs(value: str, folders: list[str]) -> None:
    line = CommandLine(ConfigSource("evaluate"), [f"run={value}"])
    assert list(line.settings().run_folders) == folders


def test_several_folders_of_runs_can_be_swept() -> None:
    check_command_line("evaluate", ["-m", "run=a,b"])
    line = CommandLine(ConfigSource("evaluate"), ["run=a,b"], is_sweep=True)
    assert line.arguments == ["run=a,b"]


def test_corpora_are_named_in_a_list() -> None:
    arguments = ["task=corpus", "corpora=[ctb,toy_english]", "corpora.ctb.root=/there"]
    settings = CommandLine(ConfigSource("evaluate"), arguments).settings()
    assert [one.name for one in settings.named_corpora] == ["ctb", "toy_english"]
    assert settings.corpora["ctb"].reader.root == "/there"
    one = CommandLine(ConfigSource("evaluate"), ["task=perplexity", "corpora=ctb"]).settings()
    assert list(one.corpora) == ["ctb"]


@pytest.mark.parametrize(
    ("arguments", "mistakes"),
    [
        (["corpora=[cbt]", "corpora.cbt.root=x"], ["unknown data 'cbt'; did you mean 'ctb'?"]),
        (["corpora=[ctb]", "corpora.ptb.root=x"], ["corpora.ptb.root is not a setting"]),
        (["corpora=[ctb]", "corpora.ctb.reader.genres=[xx]"], ["corpora.ctb.reader.genres=[xx]"]),
        (["data=ctb", "corpora=[ctb]", "data.root=/x"], ["two corpora are called ctb"]),
        (["task=parse", "data=ctb"], ["data= and corpora= have no effect on task=parse"]),
    ],
)
def test_mistakes_in_named_corpora(arguments: list[str], mistakes: list[str]) -> None:
    found = _mistakes(*arguments, script="evaluate")
    assert len(found) == len(mistakes)
    assert all(mistake in one for mistake, one in zip(mistakes, found, strict=True))


def test_settings_of_another_search_are_unknown() -> None:
    (found,) = _mistakes("search=unbiased", "search.fast_track=3", script="evaluate")
    assert found.startswith("search.fast_track is not a setting")


def test_a_missing_gpu_is_a_mistake_of_an_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    (found,) = _mistakes("device=cuda:1", script="evaluate")
    assert found == "device=cuda:1: no GPU is available; set device=auto or device=cpu"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    check_command_line("evaluate", ["device=cuda:1"])


def test_an_evaluation_reports_all_mistakes_at_once() -> None:
    assert len(_mistakes("runn=x", "task.split=dev", "nonsense", script="evaluate")) == 3
    found = _mistakes(
        "task=rescore",
        "task.ties=x",
        "search.action_beam=0",
        "search.marginal=x",
        "paths.cache=[1]",
        script="evaluate",
    )
    parts = ("surprisals is missing", "task.ties=x", "action_beam=0", "marginal=x", "paths.cache",
             "suite is missing")  # fmt: skip
    assert len(found) == len(parts)
    for part in parts:
        assert len([mistake for mistake in found if part in mistake]) == 1


def test_a_model_of_trees_on_text_is_a_mistake(tmp_path: Path) -> None:
    """Before anything is loaded: the corpus is not even there."""
    (found,) = _mistakes("data=text", f"data.root={tmp_path / 'absent'}", "model=rnng")
    assert "model=rnng learns from trees, but data=text has none" in found
    assert "treebank" in found


def test_a_missing_gpu_is_reported_with_other_mistakes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    found = _mistakes("trainer=gpu", "seed=-1")
    assert any("no GPU is available" in mistake for mistake in found)
    assert any("seed=-1" in mistake for mistake in found)


def test_wrong_id_ranges_are_listed_with_all_other_mistakes() -> None:
    found = _mistakes("data=ptb", "data.reader.train=2-x", "seed=-1")
    assert len(found) == 2
    assert any("'2-x' is not a list of numbers" in mistake for mistake in found)


@pytest.mark.slow
def test_a_suite_that_does_not_exist_is_not_missing_too() -> None:
    for arguments in (("suite=mandrin",), ("task=suite", "suite=mandrin", "task.tie_credit=coin")):
        (found,) = _mistakes(*arguments, script="evaluate")
        assert "did you mean 'mandarin'?" in found


@pytest.mark.parametrize("task", ["suite", "rescore"])
def test_a_missing_suite_is_listed_with_all_other_mistakes(task: str) -> None:
    arguments = (f"task={task}", "task.ties=tails", "search.word_beam=0")
    given = ("surprisals=folder",) if task == "rescore" else ()
    found = _mistakes(*arguments, *given, script="evaluate")
    assert len(found) == 3 and any("suite is missing" in mistake for mistake in found)


# ----------------------------------------------------------------------------
# Grids of experiments: what is trained, and what the command line makes of it.


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


@pytest.mark.slow
@pytest.mark.parametrize("experiment", ["mandarin", "reflexives", "filler_gap"])
def test_every_run_of_a_grid_is_right(experiment: str) -> None:
    check_command_line("train", ["-m", f"experiment={experiment}"])


@pytest.mark.slow
def test_a_setting_of_some_models_is_for_them_alone() -> None:
    line = CommandLine(
        ConfigSource("train"), ["experiment=mandarin", "model.size=tiny"], is_sweep=True
    )
    sweeps = {sweep.arguments[-2]: sweep.arguments for sweep in line.sweeps()}
    assert "model.network.size=tiny" not in sweeps["model=ngram"]
    assert "model.network.size=tiny" in sweeps["model=rnng"]
    line.check()


@pytest.mark.slow
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


# ----------------------------------------------------------------------------
# Every setting of the commands has a line of explanation, which ``--help`` prints.


def _records(annotation: Any) -> Iterator[type]:
    """The dataclasses of an annotation, and of their fields."""
    if get_origin(annotation) is Annotated:
        for one in get_args(annotation)[1:]:
            if isinstance(one, Tagged):
                for record in one.classes.values():
                    yield from _records(record)
    for part in get_args(annotation):
        yield from _records(part)
    if dataclasses.is_dataclass(annotation) and isinstance(annotation, type):
        yield annotation
        for hint in get_type_hints(annotation, include_extras=True).values():
            yield from _records(hint)


def _unexplained(record: type) -> set[str]:
    """Fields without an explanation, except the one that tells the choices of a group apart."""
    keys = {"kind", "name"} if "name" not in explanations(record) else {"kind"}
    return {field.name for field in dataclasses.fields(record)} - {*explanations(record)} - keys


@pytest.mark.parametrize("root", [TrainSettings, EvaluateSettings, PlaygroundSettings])
def test_every_setting_is_explained(root: type) -> None:
    records = set(_records(root))
    assert len(records) >= 4
    assert {record: names for record in records if (names := _unexplained(record))} == {}


def test_a_setting_without_explanation_is_found() -> None:
    @dataclasses.dataclass
    class Bad:
        kind: str = "bad"
        said: int = 1
        """Has a line."""
        unsaid: int = 2

    assert _unexplained(Bad) == {"unsaid"}
