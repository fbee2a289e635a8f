"""Configuration: every choice composes, and every mistake is reported at once."""

from __future__ import annotations

import fnmatch
import functools
import itertools
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
import torch

from gardenpath.data.batches.batch_settings import BatchSettings
from gardenpath.data.readers.registry import READERS
from gardenpath.errors import ConfigError
from gardenpath.eval.suites.library.collection import suite_names
from gardenpath.eval.task_settings import SEARCHES, evaluation_mistakes
from gardenpath.models.families import FAMILIES
from gardenpath.models.training.optimisation import OptimiserSettings
from gardenpath.models.training.trainer_settings import TrainerSettings
from gardenpath.places import CONFIG_DIR
from gardenpath.settings import compose as config
from gardenpath.settings.compose import (
    Settings,
    check_command_line,
    check_settings,
    load_settings,
    make_preparation,
    make_reader,
    make_search,
)
from tests.models.samples import make_vocabulary
from tests.tasks.toy_runs import changed


def _choices(group: str) -> list[str]:
    return sorted(path.stem for path in (CONFIG_DIR / group).glob("[!_]*.yaml"))


def _mistakes(*arguments: str, script: str = "train") -> list[str]:
    with pytest.raises(ConfigError) as caught:
        check_command_line(script, list(arguments))
    return caught.value.mistakes


@pytest.fixture
def with_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Configurations for GPUs are right where there is one."""
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)


def _fits(settings: Settings) -> bool:
    family = FAMILIES[settings["model"]["family"]]
    return not family.needs_trees or READERS[settings["data"]["reader"]["kind"]].has_trees


@pytest.mark.parametrize(("data", "model"), itertools.product(_choices("data"), _choices("model")))
def test_every_corpus_with_every_model(data: str, model: str) -> None:
    settings = load_settings("train", [f"data={data}", f"model={model}"])
    assert settings["data"]["name"] == data
    assert bool(check_settings(settings)) is not _fits(settings)


@pytest.mark.parametrize("data", _choices("data"))
def test_every_reader_is_built(data: str) -> None:
    settings = load_settings("train", [f"data={data}"])["data"]
    reader = make_reader(settings)
    assert isinstance(reader, READERS[settings["reader"]["kind"]])
    make_preparation(settings)


@pytest.mark.parametrize("model", _choices("model"))
def test_every_model_is_built(model: str) -> None:
    settings = load_settings("train", [f"model={model}"])["model"]
    family = FAMILIES[settings["family"]]
    if not family.is_neural:
        assert hasattr(family.build(**settings["network"]), "estimate")
        return
    OptimiserSettings(**settings["optimiser"])
    BatchSettings(**settings["batches"])
    vocabulary = replace(make_vocabulary("the", "cat"), labels=("NP", "S"))
    small = {**settings["network"], "size": "tiny"}
    network = family.build(**family.dimensions(vocabulary), **small)
    assert isinstance(network, torch.nn.Module)


@pytest.mark.parametrize("trainer", _choices("trainer"))
def test_every_trainer_is_built(trainer: str, with_gpu: None) -> None:
    settings = load_settings("train", [f"trainer={trainer}"])
    assert check_settings(settings) == []
    built = TrainerSettings(**settings["trainer"])
    assert built.accelerator == {"cpu": "cpu", "auto": "auto"}.get(trainer, "gpu")


@pytest.mark.parametrize("logger", _choices("logger"))
def test_every_logger_is_right(logger: str) -> None:
    settings = load_settings("train", [f"logger={logger}"])
    assert settings["logger"]["kind"] == logger
    assert check_settings(settings) == []


@pytest.mark.parametrize("experiment", _choices("experiment"))
@pytest.mark.parametrize("model", ["unigram", "ngram", "lstm", "transformer"])
def test_every_experiment_is_right(experiment: str, model: str) -> None:
    settings = load_settings("train", [f"experiment={experiment}", f"model={model}"])
    assert check_settings(settings) == []


# What the tasks cannot do without.
NEEDED = {
    "suite": ["suite=mandarin"],
    "rescore": ["suite=mandarin", "surprisals=there"],
    "surprisal": ["input=sentences.txt"],
}


@pytest.mark.parametrize("task", _choices("task"))
def test_every_task_is_right(task: str) -> None:
    settings = _composed(task)
    assert settings["task"]["name"] == task
    assert evaluation_mistakes(settings) == []


@pytest.mark.parametrize("suite", _choices("suite"))
def test_every_suite_is_right(suite: str) -> None:
    own = ["suite.suites=[mine.yaml]"] if suite == "file" else []
    settings = load_settings("evaluate", [f"suite={suite}", *own])
    assert settings["suite"]["name"] == suite
    assert evaluation_mistakes(settings) == []
    if not own:
        patterns = settings["suite"]["suites"]
        assert all(fnmatch.filter(suite_names(), f"{one.split('/')[0]}/*") for one in patterns)


@pytest.mark.parametrize("search", _choices("search"))
def test_every_search_is_built(search: str) -> None:
    settings = load_settings("evaluate", [f"search={search}"])
    assert evaluation_mistakes(settings) == []
    built = make_search(settings["search"])
    assert type(built) is SEARCHES[search]
    # The file says nothing that differs from the defaults, and leaves nothing out.
    assert built == SEARCHES[search]()
    assert set(settings["search"]) == {"kind", *(field.name for field in fields(built))}


def test_an_evaluation_without_suites_is_of_perplexity() -> None:
    settings = load_settings("evaluate", [])
    assert (settings["suite"], settings["task"]["name"]) == (None, "auto")
    check_command_line("evaluate", [])
    for name in ("suite", "perplexity"):
        assert set(_composed(name)["task"]) <= set(settings["task"])


def test_defaults_are_those_of_the_documentation() -> None:
    settings = load_settings("train", [])
    assert settings["run_dir"] == "runs/toy_english/lstm/seed1"
    assert settings["data"]["min_count"] == 2
    assert load_settings("train", ["model=ngram"])["model"]["network"]["order"] == 5
    assert load_settings("train", ["model=transformer"])["model"]["network"]["size"] == "base"
    toy = settings["data"]["reader"]
    assert (toy["train"], toy["valid"], toy["test"]) == (8000, 500, 500)


def test_the_size_reaches_the_network() -> None:
    settings = load_settings("train", ["model=transformer", "model.size=tiny"])
    assert settings["model"]["network"]["size"] == "tiny"


RIGHT: list[list[str]] = [
    [],
    ["model=lstm", "data=ptb_sample", "seed=3"],
    ["-m", "model=lstm,transformer", "seed=1,2,3"],
    ["-m", "seed=range(1,4)", "data=toy_english,toy_mandarin"],
    ["experiment=demo", "model=ngram"],
    ["trainer.precision=32"],
    ["+note=anything"],
    ["hydra.verbose=true"],
    ["hydra/job_logging=default"],
    ["data=ptb", "data.root=/some where/else"],
    ["model.network.layers=null"],
    ["--help"],
]


@pytest.mark.parametrize("arguments", RIGHT)
def test_right_command_lines_pass(arguments: list[str]) -> None:
    check_command_line("train", arguments)


@pytest.mark.parametrize(
    ("argument", "mistake"),
    [
        ("model=lsmt", "model=lsmt: there is no such model; did you mean 'lstm'?"),
        ("data=ptb_smaple", "did you mean 'ptb_sample'?"),
        ("trainer=tpu", "trainer=tpu: there is no such trainer; did you mean"),
        ("logger=tensorboard", "valid: none, wandb"),
        ("experiment=dmo", "did you mean 'demo'?"),
        ("sede=3", "sede is not a setting; did you mean 'seed'?"),
        ("model.network.hiden=3", "did you mean 'model.network.hidden'?"),
        ("model.optimizer.learning_rate=1", "did you mean 'model.optimiser.learning_rate'?"),
        ("trainer.epochs=3", "did you mean 'trainer.max_epochs'?"),
        ("zzz=1", "zzz is not a setting; valid: data, model, trainer, logger"),
        (
            "model.network.dropout=1.5",
            "model.network.dropout=1.5: must be from 0 up to but below 1",
        ),
        ("model.network.layers=0", "model.network.layers=0: must be at least 1"),
        ("model.network.layers=2.0", "must be a whole number"),
        ("model.size=huge", "model.network.size=huge: valid: tiny, small, base"),
        ("model.optimiser.algorithm=adam", "did you mean 'adamw'?"),
        ("model.optimiser.learning_rate=fast", "must be a number"),
        ("model.optimiser.warmup_steps=5", "schedule=plateau cannot warm up"),
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
        ("seed=-1", "seed=-1: must be from 0 to 4294967295"),
        ("seed=5000000000", "seed=5000000000: must be from 0 to 4294967295"),
        ("seed=one", "seed=one: must be a whole number"),
        ("resume=maybe", "resume=maybe: must be true or false"),
        ("overwrite=1", "overwrite=1: must be true or false"),
        ("nonsense", "'nonsense' cannot be read; write name=value"),
        ("~model.family", "~model.family: a setting cannot be taken away"),
    ],
)
def test_single_mistakes(argument: str, mistake: str) -> None:
    (found,) = _mistakes(argument)
    assert mistake in found


def test_a_family_needs_its_own_settings() -> None:
    (found,) = _mistakes("model=ngram", "model.family=lstm")
    assert "model.family=lstm needs the settings of that family" in found


def test_settings_of_another_model_are_unknown() -> None:
    (found,) = _mistakes("model=ngram", "model.optimiser.learning_rate=1")
    assert found.startswith("model.optimiser.learning_rate is not a setting")


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


def test_what_depends_on_a_wrong_choice_is_not_judged() -> None:
    (found,) = _mistakes("model=transfromer", "model.network.heads=2", "seed=1")
    assert found == "model=transfromer: there is no such model; did you mean 'transformer'?"


def test_sweeps_are_checked_in_every_combination() -> None:
    found = _mistakes("-m", "model=lstm,trnsformer,ngrm", "seed=1,-2")
    assert len(found) == 3
    assert any("did you mean 'transformer'?" in mistake for mistake in found)
    assert any("did you mean 'ngram'?" in mistake for mistake in found)
    assert any("seed=-2" in mistake for mistake in found)


def test_a_sweep_reports_a_setting_that_only_one_of_its_models_has() -> None:
    (found,) = _mistakes("-m", "model=transformer,lstm", "model.network.heads=4")
    assert "model.network.heads is not a setting" in found


def test_a_mistake_in_a_swept_value_is_named() -> None:
    (found,) = _mistakes("-m", "model.network.dropout=0.1,1.1,0.3")
    assert found.startswith("model.network.dropout=1.1")


@pytest.mark.parametrize(
    ("argument", "mistake"),
    [
        ("task=perplexty", "did you mean 'perplexity'?"),
        ("task.split=tset", "task.split=tset: did you mean 'test'?"),
        ("runs=x", "runs is not a setting; did you mean 'run'?"),
        ("outptu=x", "did you mean 'output'?"),
        ("suite=mandrin", "did you mean 'mandarin'?"),
        ("suite=file", "suite.suites is empty: name files, as in 'suite.suites=[mine.yaml]'"),
        ("search=word_snyc", "did you mean 'word_sync'?"),
        ("task=suite", "suite= is missing: try suite=mandarin, and task=suites"),
        ("task=surprisal", "input= is missing: a file of sentences, or - for standard input"),
    ],
)
def test_mistakes_of_an_evaluation(argument: str, mistake: str) -> None:
    (found,) = _mistakes(argument, script="evaluate")
    assert mistake in found


@functools.cache
def _composed(task: str) -> Settings:
    return load_settings("evaluate", [f"task={task}", *NEEDED.get(task, [])])


@pytest.mark.parametrize(
    ("argument", "mistake"),
    [
        ("search.kind=word_snyc", "search.kind=word_snyc: did you mean 'word_sync'?"),
        ("search.action_beam=0", "search.action_beam=0: must be at least 1"),
        ("search.fast_track=-1", "search.fast_track=-1: must be at least 0"),
        ("search.marginal=x", "search.marginal=x: valid: survivors, candidates"),
        ("search.stop=exhaust", "did you mean 'exhausted'?"),
        ("search.memory_gb=0", "search.memory_gb=0: must be at least"),
        ("search.bounded=maybe", "search.bounded=maybe: must be true or false"),
        ("task.split=dev", "task.split=dev: valid: train, valid, test"),
        ("task.ties=x", "task.ties=x: valid: expectation, coin"),
        ("task.ties=null", "task.ties=None: valid: expectation, coin"),
        ("task.tie_seed=-1", "task.tie_seed=-1: must be from 0"),
        ("task.marginal_sentences=-1", "must be at least 0"),
        ("task.report=perhaps", "task.report=perhaps: must be true or false"),
        ("device=gpu", "device=gpu: not a device; valid: auto, cpu, cuda"),
    ],
)
def test_wrong_values_of_an_evaluation(argument: str, mistake: str) -> None:
    (found,) = evaluation_mistakes(changed(_composed("auto"), argument))
    assert mistake in found


@pytest.mark.parametrize(
    ("task", "argument", "mistake"),
    [
        ("parse", "task.k_best=0", "task.k_best=0: must be at least 1"),
        ("parse", "task.sentences=0", "task.sentences=0: must be at least 1"),
        ("surprisal", "task.chunk=0", "task.chunk=0: must be at least 1"),
        ("surprisal", "task.end=no_end", "task.end=no_end: must be true or false"),
        ("suites", "task.export=json", "task.export=json: valid: syntaxgym, text, compact"),
        ("suite", "suite.items=0", "suite.items=0: must be at least 1"),
        ("suite", "suite.in_vocabulary=x", "suite.in_vocabulary=x: must be true or false"),
        ("suite", "suite.suites=mandarin", "suite.suites=mandarin: must be a list"),
        ("corpus", "task.words=himself", "task.words=himself: must be a list"),
    ],
)
def test_wrong_values_of_tasks(task: str, argument: str, mistake: str) -> None:
    assert evaluation_mistakes(changed(_composed(task), argument)) == [mistake]


def test_settings_of_another_search_are_unknown() -> None:
    (found,) = _mistakes("search=particle", "search.word_beam=3", script="evaluate")
    assert found.startswith("search.word_beam is not a setting")


def test_a_missing_gpu_is_a_mistake_of_an_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    settings = changed(_composed("auto"), "device=cuda:1")
    (found,) = evaluation_mistakes(settings)
    assert found == "device=cuda:1: there is no GPU; set device=auto or device=cpu"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert evaluation_mistakes(settings) == []


def test_an_evaluation_reports_all_mistakes_at_once() -> None:
    assert len(_mistakes("runn=x", "task.split=dev", "nonsense", script="evaluate")) == 3
    found = _mistakes(
        "task=rescore",
        "task.ties=x",
        "search.action_beam=0",
        "search.marginal=x",
        "device=gpu",
        script="evaluate",
    )
    parts = ("suite= is missing", "surprisals= is missing", "task.ties=x", "action_beam=0",
             "marginal=x", "device=gpu")  # fmt: skip
    assert len(found) == len(parts)
    for part in parts:
        assert len([mistake for mistake in found if part in mistake]) == 1


@pytest.fixture
def tree_family(monkeypatch: pytest.MonkeyPatch) -> None:
    """The LSTM, as if it were learning from trees."""
    families: dict[str, Any] = dict(FAMILIES)
    families["lstm"] = replace(FAMILIES["lstm"], needs_trees=True)
    monkeypatch.setattr(config, "FAMILIES", families)


def test_a_model_of_trees_on_text_is_a_mistake(tree_family: None, tmp_path: Path) -> None:
    """Before anything is loaded: the corpus is not even there."""
    (found,) = _mistakes("data=text", f"data.root={tmp_path / 'absent'}", "model=lstm")
    assert "model=lstm learns from trees, and data=text has none" in found
    assert "treebank" in found


def test_a_model_of_trees_on_a_treebank_is_right(tree_family: None) -> None:
    check_command_line("train", ["data=ptb", "model=lstm"])


def test_a_missing_gpu_is_reported_with_other_mistakes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: False)
    found = _mistakes("trainer=gpu", "seed=-1")
    assert any("there is no GPU" in mistake for mistake in found)
    assert any("seed=-1" in mistake for mistake in found)


def test_wrong_id_ranges_are_listed_with_all_other_mistakes() -> None:
    with pytest.raises(ConfigError) as caught:
        check_command_line("train", ["data=ptb", "data.reader.train=2-x", "seed=-1"])
    assert len(caught.value.mistakes) == 2
    assert any("'2-x' is not a list of numbers" in mistake for mistake in caught.value.mistakes)
