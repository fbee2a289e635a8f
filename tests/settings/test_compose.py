"""Configuration: every choice composes to typed settings, and files say only what differs."""

from __future__ import annotations

import fnmatch
import itertools
from dataclasses import replace

import pytest
import torch
import yaml

from gardenpath.data.corpus import READERS
from gardenpath.errors import ConfigError
from gardenpath.eval.search.settings import SEARCHES, WordSync
from gardenpath.eval.suites.library import suite_names
from gardenpath.eval.suites.pairs import PAIR_SETS
from gardenpath.models.family import FAMILIES, NeuralFamily
from gardenpath.models.ngram.model import EstimatedFamily
from gardenpath.settings.compose import (
    ConfigSource,
    Script,
    choices_of,
    composed,
    groups_of,
    load_settings,
    plain_config,
    root_of,
)
from gardenpath.settings.evaluate import EvaluateSettings
from gardenpath.settings.schema import plain, read
from gardenpath.settings.tasks import TASKS, StudyTask, suites_of_set
from gardenpath.settings.train import TrainSettings
from gardenpath.studies.replicate import study_spec
from gardenpath.util import CONFIG_DIR
from tests.models.samples import make_vocabulary
from tests.tiers import in_turn

SCRIPTS: tuple[Script, ...] = ("train", "evaluate")


def _choices(group: str) -> list[str]:
    return choices_of(group, ConfigSource("train"))


@pytest.fixture
def with_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Configurations for GPUs are right where there is one."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 8)


_WITHOUT_TREES = list(itertools.product(("text", "wikipedia"), ("rnng", "plm")))


@pytest.mark.parametrize(
    ("data", "model"), in_turn(_choices("data"), _choices("model"), each=1) + _WITHOUT_TREES
)
def test_every_corpus_with_every_model(data: str, model: str) -> None:
    arguments = [f"data={data}", f"model={model}"]
    if data == "combined":
        arguments.append("data.parts=[toy_english,ptb_sample]")
    if data in ("text", "wikipedia") and model.startswith(("rnng", "plm")):
        with pytest.raises(ConfigError, match="learns from trees"):
            load_settings("train", arguments)
        return
    settings: TrainSettings = load_settings("train", arguments)
    assert (settings.data.name, settings.model.name) == (data, model)
    assert isinstance(settings.data.reader, tuple(READERS.values()))
    settings.data.preparation()


@pytest.mark.parametrize("model", _choices("model"))
def test_every_model_is_built(model: str) -> None:
    settings = load_settings("train", [f"model={model}"]).model
    family = FAMILIES[settings.family]
    assert type(settings) is family.settings
    if isinstance(family, EstimatedFamily):
        return
    assert isinstance(family, NeuralFamily)
    vocabulary = replace(make_vocabulary("the", "cat"), labels=("NP", "S"))
    small = replace(settings, network=replace(settings.network, size="tiny"))
    assert isinstance(family.build(small, vocabulary), torch.nn.Module)


@pytest.mark.parametrize("trainer", _choices("trainer"))
def test_every_trainer_is_right(trainer: str, with_gpu: None) -> None:
    settings = load_settings("train", [f"trainer={trainer}"]).trainer
    assert settings.accelerator == {"cpu": "cpu", "auto": "auto"}.get(trainer, "gpu")


@pytest.mark.parametrize("logger", _choices("logger"))
@pytest.mark.parametrize("script", SCRIPTS)
def test_every_logger_is_right(script: Script, logger: str) -> None:
    assert load_settings(script, [f"logger={logger}"]).logger.kind == logger


NEURAL = ("lstm", "transformer", "rnng", "plm", "plm_mask")


@pytest.mark.slow
@pytest.mark.parametrize("model", _choices("model"))
def test_every_experiment_is_right(model: str) -> None:
    demo = "demo_neural" if model in NEURAL else "demo"
    settings = load_settings("train", [f"experiment={demo}", f"model={model}"])
    assert settings.run_dir == f"runs/demo/demo_english/{model}/seed1"
    if model in NEURAL:
        assert settings.trainer.early_stopping == 0
        settings = load_settings("train", ["experiment=toy", f"model={model}"])
        assert settings.run_dir == f"runs/toy/toy_english/{model}/seed1"
        assert settings.data.reader.train == 1600


# What the tasks cannot do without.
NEEDED = {
    "suite": ["suite=mandarin"],
    "rescore": ["suite=mandarin", "surprisals=there"],
    "surprisal": ["input=sentences.txt"],
    "export": ["data=ptb_sample"],
    "annotate": ["input=raw.txt", "output=corpora/mine"],
    "merge": ["stores=[a.sqlite]"],
    "study": ["study=mandarin", "run=runs"],
    "adopt": ["model=hf", "name=gpt2"],
    "new_suite": ["name=mine"],
}


@pytest.mark.parametrize("task", _choices("task"))
def test_every_task_is_right(task: str) -> None:
    settings: EvaluateSettings = load_settings("evaluate", [f"task={task}", *NEEDED.get(task, [])])
    assert type(settings.task) is TASKS[task]


@pytest.mark.parametrize("study", _choices("study"))
def test_every_study_is_right(study: str) -> None:
    settings: EvaluateSettings = load_settings("evaluate", [f"study={study}", "run=a,b"])
    assert isinstance(settings.task, StudyTask) and settings.run_folders == ("a", "b")
    assert settings.study is not None and settings.study.name == study
    assert study_spec(study).name == study
    names = [name for one in settings.study.suites for name in suites_of_set(one)]
    assert all(fnmatch.filter(suite_names(), f"{one.split('/')[0]}/*") for one in names)


def test_a_study_needs_a_source() -> None:
    with pytest.raises(ConfigError, match="a study needs surprisals=FOLDER"):
        load_settings("evaluate", ["study=mandarin"])
    with pytest.raises(ConfigError, match="suite= has no effect on a study"):
        load_settings("evaluate", ["study=mandarin", "suite=mandarin", "run=runs"])
    with pytest.raises(ConfigError, match="study is missing"):
        load_settings("evaluate", ["task=study", "run=runs"])
    with pytest.raises(ConfigError, match="run is missing"):
        load_settings("evaluate", ["task=perplexity", "run=null"])


def test_every_task_has_a_file() -> None:
    assert _choices("task") == sorted(TASKS)


@pytest.mark.parametrize("suite", _choices("suite"))
def test_every_suite_is_right(suite: str) -> None:
    own = ["suite.suites=[dir/mine.yaml]"] if suite == "file" else []
    settings = load_settings("evaluate", [f"suite={suite}", "task=suite", *own])
    assert settings.suites.label == ("mine" if own else suite)
    if not own:
        patterns = settings.suites.suites
        names = [*suite_names(), *(f"{name}/paradigm" for name in PAIR_SETS)]
        assert all(fnmatch.filter(names, f"{one.split('/')[0]}/*") for one in patterns)


def test_several_files_of_suites_have_a_folder_of_their_own() -> None:
    arguments = ["suite=file", "task=suite", "suite.suites=[a/one.yaml,b/two.yaml]"]
    assert load_settings("evaluate", arguments).suites.label == "one_and_1_more"


_VARIANTS = {
    "published": WordSync(fast_track=1),
    "adaptive": WordSync(action_beam=50, word_beam=40, margin_bits=7.0),
}


@pytest.mark.parametrize("search", _choices("search"))
def test_every_search_is_built_with_its_defaults(search: str) -> None:
    expected = _VARIANTS.get(search) or SEARCHES[search]()
    assert load_settings("evaluate", [f"search={search}"]).search == expected


def test_studies_are_searched_with_the_published_rules() -> None:
    study = ["study=mandarin", "run=runs/some"]
    assert load_settings("evaluate", study).search == WordSync(fast_track=1)
    assert load_settings("evaluate", [*study, "search=word_sync"]).search == WordSync()
    assert load_settings("evaluate", ["suite=demo"]).search == WordSync()


@pytest.mark.slow
def test_defaults_are_those_of_the_documentation() -> None:
    settings: TrainSettings = load_settings("train")
    assert settings.run_dir == "runs/toy_english/lstm/seed1"
    assert settings.data.min_count == 2
    assert load_settings("train", ["model=ngram"]).model.network.order == 5
    assert load_settings("train", ["model=transformer"]).model.network.size == "base"
    toy = plain(settings.data.reader)
    assert (toy["train"], toy["valid"], toy["test"]) == (8000, 500, 500)


def test_short_names_reach_the_setting() -> None:
    settings = load_settings("train", ["model=transformer", "model.size=tiny"])
    assert settings.model.network.size == "tiny"
    task = load_settings("evaluate", ["task=surprisal", "input=-"]).task
    assert task.input == "-"


@pytest.mark.parametrize(
    ("script", "arguments"),
    [("train", ["model=rnng", "data=ctb"]), ("evaluate", ["suite=mandarin", "task=suite"])],
)
def test_settings_survive_a_round_trip(script: Script, arguments: list[str]) -> None:
    settings = load_settings(script, arguments)
    assert read(root_of(script), yaml.safe_load(yaml.safe_dump(plain(settings)))) == settings


@pytest.mark.parametrize("script", SCRIPTS)
def test_groups_are_those_of_the_script(script: Script) -> None:
    shared = {"logger", "paths"}
    own = {
        "train": {"data", "model", "trainer", "experiment"},
        "evaluate": {"task", "suite", "study", "search", "data", "model"},
    }
    assert groups_of(ConfigSource(script)) == shared | own[script]


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS)
def test_files_repeat_no_default(script: Script) -> None:
    """A value in a file that equals the default of its dataclass would be a second truth."""
    for group in sorted(groups_of(ConfigSource(script)) - {"experiment", "suite", "study"}):
        for name in choices_of(group, ConfigSource(script)):
            path = CONFIG_DIR / group / f"{name}.yaml"
            content = yaml.safe_load(path.read_text(encoding="utf-8"))
            bases = [one for one in content.pop("defaults", []) if one != "_self_"]
            # A file for the root (task/study) names the part that its base belongs to.
            bases = [one.partition("@")[0] for one in bases if isinstance(one, str)]
            if not bases:
                continue
            override = f"{'+' if group == 'suite' else ''}{group}={bases[0]}"
            base = composed(ConfigSource(script), [override])[group]
            repeated = [
                key
                for key, value in _flat(content)
                if "$" not in str(value) and key in base and _value_at(base, key) == value
            ]
            assert repeated == [], f"{path}: {repeated}"


def _flat(content: dict[str, object], prefix: str = "") -> list[tuple[str, object]]:
    found: list[tuple[str, object]] = []
    for key, value in content.items():
        if isinstance(value, dict):
            found += _flat(value, f"{prefix}{key}.")
        else:
            found.append((f"{prefix}{key}", value))
    return found


def _value_at(config: object, key: str) -> object:
    for name in key.split("."):
        config = config._get_node(name)  # type: ignore[attr-defined]
    return config._value()  # type: ignore[attr-defined]


def test_names_with_an_underscore_are_for_interpolation() -> None:
    config = composed(ConfigSource("train"), ["experiment=demo_neural"])
    assert "_demo" in config and "_demo" not in plain_config(config)
