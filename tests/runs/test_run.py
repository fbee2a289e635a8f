"""The key under which log probabilities are stored: all that decides them, and nothing else."""

from __future__ import annotations

import dataclasses
import json
import math
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from safetensors.torch import load_file, save_file

from gardenpath.errors import DamagedRunError, RunError
from gardenpath.eval.search.scorer import StructuredScorer
from gardenpath.eval.search.settings import Limits, SearchSettings, Unbiased, WordSync
from gardenpath.models.ngram.model import NgramScorer
from gardenpath.models.sequential.networks import SequentialScorer
from gardenpath.runs import model as model_module
from gardenpath.runs.find import find, load
from gardenpath.runs.model import TrainedModel
from gardenpath.runs.run import Run
from gardenpath.util import Words
from tests import small_runs
from tests.toy_runs import run_of

# For each setting of a search another value than its default.
OTHER: dict[str, Any] = {
    "max_open": 7,
    "max_consecutive": 3,
    "shared_compositions": False,
    "share_prefixes": False,
    "fixed_shapes": True,
    "memory_gb": 0.5,
    "action_beam": 11,
    "word_beam": 4,
    "fast_track": 0,
    "marginal": "candidates",
    "stop": "beam_full",
    "bounded": False,
    "lazy_words": False,
    "margin_bits": 3.0,
    "replicates": 5,
    "tolerance": 0.2,
    "max_replicates": 9,
    "roulette": 0.3,
    "seed": 9,
}
SEARCHES: tuple[SearchSettings, ...] = (WordSync(), Unbiased())
CASES = [
    (search, field.name)
    for search in SEARCHES
    for field in dataclasses.fields(search)
    if field.name != "kind"
]
WORK_ONLY = {
    "shared_compositions", "share_prefixes", "fixed_shapes", "memory_gb", "bounded", "lazy_words",
}  # fmt: skip


def _key(path: Path, search: SearchSettings | None = None) -> str:
    return Run(path, device="cpu", search=search).model_key


def _copy(folder: Path, model: str, path: Path) -> Path:
    shutil.copytree(run_of(folder, model).path, path)
    return path


def _edit(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    config = yaml.safe_load((path / "config.yaml").read_text(encoding="utf-8"))
    change(config)
    (path / "config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    (path / "manifest.json").unlink(missing_ok=True)


def test_the_key_of_a_copy_is_that_of_the_original(folder: Path, tmp_path: Path) -> None:
    for model in ("ngram", "lstm", "rnng", "plm"):
        copy = _copy(folder, model, tmp_path / "elsewhere" / model)
        assert _key(copy) == _key(run_of(folder, model).path)


def test_every_model_has_a_key_of_its_own(folder: Path) -> None:
    keys = {_key(run_of(folder, model).path) for model in ("ngram", "lstm", "rnng", "plm")}
    assert len(keys) == 4


@pytest.mark.parametrize("model", ["lstm", "rnng"])
def test_the_key_changes_with_a_weight(folder: Path, tmp_path: Path, model: str) -> None:
    path = _copy(folder, model, tmp_path / "copy")
    file = path / "weights.safetensors"
    weights = load_file(file)
    next(iter(weights.values())).view(-1)[0] += 1e-3
    save_file(weights, file)
    (path / "manifest.json").unlink()
    assert _key(path) != _key(run_of(folder, model).path)


def test_the_key_changes_with_the_vocabulary(folder: Path, tmp_path: Path) -> None:
    path = _copy(folder, "rnng", tmp_path / "copy")
    (path / "manifest.json").unlink()
    file = path / "vocabulary.json"
    content = json.loads(file.read_text(encoding="utf-8"))
    place = content["tokens"].index("boys")
    content["tokens"][place] = "zebras"
    file.write_text(json.dumps(content), encoding="utf-8")
    assert _key(path) != _key(run_of(folder, "rnng").path)


def test_another_segmentation_than_that_of_the_vocabulary_is_refused(tmp_path: Path) -> None:
    pieces = ("data.subwords.algorithm=bpe", "data.subwords.pieces=30")
    first = small_runs.run(tmp_path, "model=unigram", *pieces)
    assert small_runs.loaded(first).trained.subwords is not None
    before = _key(first.path)
    (first.path / "manifest.json").unlink()
    assert _key(first.path) == before
    other = small_runs.run(
        tmp_path, "model=unigram", pieces[0], "data.subwords.pieces=31",
        f"run_dir={tmp_path / 'other'}",
    )  # fmt: skip
    assert _key(other.path) != before
    shutil.copy(other.path / "subwords.model", first.path / "subwords.model")
    with pytest.raises(DamagedRunError, match=r"subwords\.model: is missing or damaged"):
        _key(first.path)
    (first / "subwords.model").unlink()
    with pytest.raises(DamagedRunError, match=r"subwords\.model: is missing or damaged"):
        _key(first.path)


@pytest.mark.parametrize(
    ("model", "name", "value"),
    [("rnng", "action_norm", "full"), ("rnng", "strategy", "in_order"),
     ("plm", "action_norm", "full"), ("plm", "structured_heads", True), ("lstm", "tied", True)],
)  # fmt: skip
def test_the_key_changes_with_the_network(
    folder: Path, tmp_path: Path, model: str, name: str, value: object
) -> None:
    """The same weights in another network give other numbers."""
    path = _copy(folder, model, tmp_path / "copy")
    before = _key(path)
    assert before == _key(run_of(folder, model).path)
    _edit(path, lambda config: config["model"]["network"].update({name: value}))
    if name == "tied":  # needs equal widths
        _edit(path, lambda config: config["model"]["network"].update({"embedding": 8}))
    assert _key(path) != before


def test_the_usual_output_layer_has_the_key_from_before_there_was_another(
    folder: Path, tmp_path: Path
) -> None:
    for model in ("lstm", "plm"):
        path = _copy(folder, model, tmp_path / model)
        before = _key(path)
        _edit(path, lambda config: config["model"]["network"].pop("output"))
        assert _key(path) == before
        _edit(path, lambda config: config["model"]["network"].update(output="factored"))
        assert _key(path) != before


@pytest.mark.parametrize(
    "change",
    [
        lambda config: config.update(seed=7),
        lambda config: config.update(run_dir="elsewhere"),
        lambda config: config["trainer"].update(max_epochs=99),
        lambda config: config["paths"].update(cache="elsewhere"),
        lambda config: config["model"].update(name="mine"),
        lambda config: config["data"].update(name="mine", min_count=5),
        lambda config: config["data"]["cleaning"].update(lowercase=True),
    ],
)
def test_the_key_does_not_change_with_how_the_model_came_about(
    folder: Path, tmp_path: Path, change: Callable[[dict[str, Any]], None]
) -> None:
    """Weights and vocabulary tell all of it; words are stored as the model reads them."""
    path = _copy(folder, "rnng", tmp_path / "copy")
    _edit(path, change)
    assert _key(path) == _key(run_of(folder, "rnng").path)


def test_every_setting_of_a_search_has_another_value_here() -> None:
    assert {name for _, name in CASES} == set(OTHER)
    for search, name in CASES:
        assert getattr(search, name) != OTHER[name]
    assert Limits.WORK_ONLY | WordSync.WORK_ONLY == WORK_ONLY


@pytest.mark.parametrize(("search", "name"), CASES)
@pytest.mark.parametrize("model", ["rnng", "plm"])
def test_the_key_changes_with_settings_of_search_that_change_results(
    folder: Path, model: str, search: SearchSettings, name: str
) -> None:
    path = run_of(folder, model).path
    changed = replace(search, **{name: OTHER[name]})
    assert (_key(path, changed) == _key(path, search)) is (name in WORK_ONLY)


def test_the_key_changes_with_the_kind_of_search(folder: Path) -> None:
    path = run_of(folder, "rnng").path
    assert _key(path, Unbiased()) != _key(path, WordSync()) == _key(path)


@pytest.mark.parametrize(("search", "name"), CASES)
@pytest.mark.parametrize("model", ["ngram", "lstm"])
def test_the_key_of_a_sequential_model_does_not_depend_on_search(
    folder: Path, model: str, search: SearchSettings, name: str
) -> None:
    path = run_of(folder, model).path
    assert _key(path, replace(search, **{name: OTHER[name]})) == _key(path)


def test_the_key_changes_with_the_version_of_the_search(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {model: _key(run_of(folder, model).path) for model in ("lstm", "rnng")}
    monkeypatch.setattr(model_module, "SEARCH_VERSION", 1000)
    after = {model: _key(run_of(folder, model).path) for model in ("lstm", "rnng")}
    assert after["rnng"] != before["rnng"] and after["lstm"] == before["lstm"]
    monkeypatch.setattr(model_module, "MODEL_KEY_VERSION", 1000)
    assert _key(run_of(folder, "lstm").path) != before["lstm"]


@pytest.mark.slow
@pytest.mark.parametrize("model", ["rnng", "plm"])
@pytest.mark.parametrize(
    "usual",
    [WordSync(action_beam=10, word_beam=3), Unbiased(action_beam=10, word_beam=3)],
    ids=["beam", "unbiased"],
)
def test_settings_of_work_only_do_not_change_results(
    folder: Path, model: str, usual: SearchSettings
) -> None:
    """What the key leaves out must not matter: each such setting, against the search without."""
    sentences = [
        ("the", "boys", "knew", "."),
        ("the", "boys", "that", "knew", "hated", "."),
        ("the", "man", "that", "the", "boys", "knew", "hated", "the", "man", "."),
    ]
    run = run_of(folder, model)
    expected = run.scorer(search=usual).word_log_probs(sentences)
    for name in sorted(usual.WORK_ONLY):
        others = {**OTHER, "memory_gb": 1e-6}
        changed = replace(usual, **{name: others[name]})
        found = run.scorer(search=changed).word_log_probs(sentences)
        for one, other in zip(found, expected, strict=True):
            assert one.tolist() == pytest.approx(other.tolist(), abs=1e-5), name


# ----------------------------------------------------------------------------
# Runs: trained models as one asks them.


MODELS = ("ngram", "lstm", "rnng", "plm")
OLD, NEW = ("the", "boys", "knew", "."), ("the", "man", "knew", ".")


def test_all_finished_runs_below_a_folder(folder: Path) -> None:
    runs = find(folder / "runs")
    assert [run.name.model for run in runs] == ["lstm", "ngram", "plm", "rnng"]
    (one,) = find(run_of(folder, "plm").path)
    assert (one.name.model, one.name.corpus, one.name.seed) == ("plm", "toy_english", 1)
    assert one.name.run == str(one.path) and one.language == "en"


def test_no_runs_at_all(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"no finished runs .* 'python train.py'"):
        find(tmp_path)


def test_an_unfinished_run_is_left_out(folder: Path, tmp_path: Path) -> None:
    for name in ("done", "begun"):
        shutil.copytree(run_of(folder, "ngram").path, tmp_path / name)
    (tmp_path / "begun" / "result.json").unlink()
    (found,) = find(tmp_path)
    assert found.path.name == "done"


def test_what_a_run_knows_of_itself(folder: Path) -> None:
    run = run_of(folder, "rnng")
    assert run.data.name == "toy_english" and run.settings.seed == 1
    assert run.metrics == run.folder.result() and set(run.metrics) == {"valid", "test"}
    assert run.is_syntactic and run.trained.strategy == "top_down"
    assert not run_of(folder, "lstm").is_syntactic
    assert run.knows("boys") and not run.knows("zebras")
    assert repr(run) == f"Run({str(run.path)!r})"
    network = run.trained.network()
    assert not any(module.training for module in network.modules())


def test_unigram_probabilities_are_those_of_training_plus_one(folder: Path) -> None:
    run = run_of(folder, "ngram")
    assert run.model.unigram_log_prob is not None
    counts = dict(zip(run.vocabulary.tokens, run.vocabulary.counts, strict=True))
    total = sum(counts.values()) + len(counts)
    assert run.model.unigram_log_prob("the") == pytest.approx(math.log((counts["the"] + 1) / total))
    assert run.model.unigram_log_prob("zebras") == pytest.approx(math.log(1 / total))
    assert sum(math.exp(run.model.unigram_log_prob(word)) for word in counts) == pytest.approx(1.0)


def test_syntactic_models_are_searched(folder: Path) -> None:
    kinds = {model: type(run_of(folder, model).scorer()) for model in MODELS}
    assert kinds == {
        "ngram": NgramScorer,
        "lstm": SequentialScorer,
        "rnng": StructuredScorer,
        "plm": StructuredScorer,
    }


def test_the_search_of_the_run_is_used_unless_another_is_given(folder: Path) -> None:
    path = run_of(folder, "rnng").path
    chosen = Unbiased(action_beam=7)
    scorer = Run(path, device="cpu", search=chosen).scorer()
    assert isinstance(scorer, StructuredScorer) and scorer.settings == chosen
    other = WordSync(action_beam=5, word_beam=2)
    again = Run(path, device="cpu", search=chosen).scorer(search=other)
    assert isinstance(again, StructuredScorer) and again.settings == other
    usual = Run(path, device="cpu").scorer()
    assert isinstance(usual, StructuredScorer) and usual.settings == WordSync()


def test_devices(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = run_of(folder, "ngram").path
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert Run(path).device == torch.device("cuda")
    assert Run(path, device="cpu").device == torch.device("cpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert Run(path).device == torch.device("cpu")


@pytest.fixture
def copied(folder: Path, tmp_path: Path) -> Run:
    """A copy of the LSTM, to be changed."""
    path = tmp_path / "copy"
    shutil.copytree(run_of(folder, "lstm").path, path)
    return Run(path, device="cpu")


def _change(run: Run, model: Mapping[str, Any], **top: Any) -> Run:
    """Replace parts of the settings in the configuration, as an editor would."""
    config = run.folder.config()
    config["model"].update(model)
    config.update(top)
    (run.folder / "config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    (run.path / "manifest.json").unlink(missing_ok=True)
    return Run(run.path, device="cpu")


@pytest.mark.parametrize("family", ["recurrent", None, ["lstm"], "os.system"])
def test_an_unknown_family_is_refused(copied: Run, family: object) -> None:
    changed = _change(copied, {"family": family})
    with pytest.raises(RunError, match=r"model\.family=.*lstm") as caught:
        changed.trained.network()
    assert "config.yaml" in str(caught.value) and "train again" in str(caught.value)


@pytest.mark.parametrize("place", ["model", "network", "top"])
def test_nothing_named_in_a_configuration_is_run(copied: Run, place: str) -> None:
    """A configuration from elsewhere can name a program, but not start it."""
    trap = copied.path.parent / "trap"
    poison = {"_target_": "pathlib.Path.touch", "_args_": [str(trap)]}
    network = copied.folder.config()["model"]["network"]
    if place == "network":
        changed = _change(copied, {"network": {**network, **poison}})
    elif place == "model":
        changed = _change(copied, poison)
    else:
        changed = _change(copied, {}, **poison)
    assert "_target_" in (changed.folder / "config.yaml").read_text(encoding="utf-8")
    changed.word_log_probs([OLD])
    assert not trap.exists()


def test_python_objects_in_a_configuration_are_refused(copied: Run) -> None:
    trap = copied.path.parent / "trap"
    text = f'model: !!python/object/apply:os.mkdir ["{trap}"]\n'
    (copied.folder / "config.yaml").write_text(text, encoding="utf-8")
    (copied.path / "manifest.json").unlink()
    with pytest.raises(RunError, match="not a run folder"):
        copied.trained.network()
    assert not trap.exists()


@pytest.mark.parametrize("content", ["", "- a\n- b\n", "just text\n"])
def test_a_configuration_that_is_none_is_refused(copied: Run, content: str) -> None:
    (copied.folder / "config.yaml").write_text(content, encoding="utf-8")
    (copied.path / "manifest.json").unlink()
    with pytest.raises(RunError, match="not a configuration"):
        copied.trained.network()


def test_settings_of_another_network_are_refused(copied: Run) -> None:
    changed = _change(copied, {"network": {"heads": 4, "layers": "two"}})
    with pytest.raises(RunError, match="heads is not a setting") as caught:
        changed.trained.network()
    assert "layers=two" in str(caught.value)


def test_a_run_that_was_made_on_another_machine_loads(
    copied: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What this machine lacks (a GPU, a logger) was needed for training only."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    trainer = {**copied.folder.config()["trainer"], "accelerator": "gpu", "devices": 4}
    expected = copied.word_log_probs([OLD])
    changed = _change(copied, {}, trainer=trainer, logger={"kind": "wandb"})
    loaded = load(changed.path)
    assert loaded.trained.settings.trainer.accelerator == "gpu"
    np.testing.assert_array_equal(loaded.word_log_probs([OLD]), expected)


@pytest.mark.parametrize("model", MODELS)
def test_scores_are_those_of_the_model_and_the_same_through_the_store(
    folder: Path, tmp_path: Path, model: str
) -> None:
    sentences = [OLD, NEW, OLD]
    direct = run_of(folder, model).scorer().word_log_probs(sentences)
    kept = tmp_path / "kept.sqlite"
    for run in (
        run_of(folder, model),
        run_of(folder, model, store=kept),
        run_of(folder, model, store=kept),
    ):
        for found, expected in zip(run.word_log_probs(sentences), direct, strict=True):
            assert len(found) == 5
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)
    first, again = (run_of(folder, model, store=kept).scored(sentences) for _ in range(2))
    assert first == again


def test_only_new_sentences_are_computed(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Words] = []
    real = NgramScorer.word_log_probs

    def note(self: NgramScorer, sentences: Sequence[Words]) -> object:
        asked.extend(sentences)
        return real(self, sentences)

    monkeypatch.setattr(NgramScorer, "word_log_probs", note)
    kept = tmp_path / "kept.sqlite"
    run_of(folder, "ngram", store=kept).scored([OLD])
    found = run_of(folder, "ngram", store=kept).scored([OLD, NEW], parsed=[OLD, NEW])
    assert asked == [OLD, NEW]
    assert list(found) == [OLD, NEW]
    assert all(one.parses is None for one in found.values()), "n-grams have no parses"


def test_what_is_stored_needs_no_model(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "kept.sqlite"
    expected = run_of(folder, "rnng", store=kept).scored([OLD, NEW], parsed=[OLD])

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a model was loaded")

    monkeypatch.setattr(TrainedModel, "network", refuse)
    run = run_of(folder, "rnng", store=kept)
    assert run.scored([NEW, OLD], parsed=[OLD]) == {
        NEW: expected[NEW], OLD: expected[OLD],
    }  # fmt: skip
    with pytest.raises(AssertionError, match="a model was loaded"):
        run.scored([OLD, NEW], parsed=[NEW])


def test_parses_are_kept_for_the_sentences_that_are_asked_for(folder: Path, tmp_path: Path) -> None:
    run = run_of(folder, "rnng", store=tmp_path / "kept.sqlite")
    found = run.scored([OLD, NEW], parsed=[OLD])
    assert found[NEW].parses is None
    parses = found[OLD].parses
    assert parses is not None and len(parses) >= 4
    for best in parses[:4]:
        assert 1 <= len(best) <= 3 and sum(share for share, _ in best) <= 1 + 1e-6


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("chunk", [1, 100])
def test_every_word_is_reported_once(folder: Path, tmp_path: Path, model: str, chunk: int) -> None:
    run = run_of(folder, model, store=tmp_path / "kept.sqlite")
    words: list[int] = []
    run.scored([OLD], on_words=words.append, chunk=chunk)
    assert sum(words) == 4
    words.clear()
    run.scored([OLD, NEW], on_words=words.append, chunk=chunk)
    assert sum(words) == 8
    words.clear()
    run.scored([OLD, NEW], on_words=words.append, chunk=chunk)
    assert sum(words) == 8
