"""Word-level LSTMs give the numbers of the module that was saved, however it was saved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies
from safetensors.torch import save_file

from gardenpath.adopted import grnn as grnn_lm
from gardenpath.adopted.families import GrnnFamily, GrnnModel, GrnnSettings
from gardenpath.adopted.grnn import GrnnLm, WordLstm, read_vocabulary_words, read_weights
from gardenpath.errors import DamagedRunError, GardenpathError, InputError
from tests.models.word_lm.word_models import (
    WORDS,
    Corpus,
    make_model,
    save,
    step_by_step,
    write_vocabulary,
)

pytestmark = pytest.mark.filterwarnings("ignore:Couldn't retrieve source code")

State = Literal["eos", "fresh", "carry"]
STATES: tuple[State, ...] = ("eos", "fresh", "carry")
FAMILY = GrnnFamily()
SENTENCES = [
    ["the", "cat", "sees", "dogs", "."],
    ["the", "cat", "sees", "."],
    ["the", "cat"],
    ["The", "zebra", "sees", "que\u00a0"],
    ["<s>", "<unk>", "the", "<eos>", "狗"],
    [],
    ["the", "cat", "sees", "dogs", "."],
    ["the"],
]


def _adopt(source: Path, folder: Path, state: State = "eos", **network: Any) -> GrnnModel:
    folder.mkdir(exist_ok=True)
    asked = GrnnModel(name="m", network=GrnnSettings(state=state, **network))
    found = FAMILY.adopt(asked, str(source), folder)
    assert isinstance(found, GrnnModel)
    return found


def _opened(source: Path, folder: Path, state: State = "eos", **network: Any) -> GrnnLm:
    adopted = _adopt(source, folder, state, **network)
    return FAMILY.open(adopted, folder, device="cpu", boundary=None)


def _compare(found: Sequence[Any], expected: Sequence[Any], atol: float = 2e-6) -> None:
    assert [len(one) for one in found] == [len(one) for one in expected]
    np.testing.assert_allclose(np.concatenate(found), np.concatenate(expected), atol=atol)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the vocabulary beside which models are saved."""
    write_vocabulary(tmp_path / "vocab.txt")
    return tmp_path


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("is_zip", [True, False], ids=["zip", "old"])
def test_scores_are_those_of_the_module(is_zip: bool, state: State, folder: Path) -> None:
    model = make_model(1)
    path = save(model, folder / "model.pt", is_zip=is_zip)
    found = _opened(path, folder / "run", state).word_log_probs(SENTENCES)
    _compare(found, step_by_step(model, SENTENCES, state))


@pytest.mark.parametrize("state", STATES)
def test_the_computation_is_exact_in_double_precision(state: State, folder: Path) -> None:
    model = make_model(2, width=5, hidden=7, layers=3)
    scorer = _opened(save(model, folder / "model.pt"), folder / "run", state)
    scorer._network.double()
    expected = step_by_step(model, SENTENCES, state)
    _compare(scorer.word_log_probs(SENTENCES), expected, atol=1e-12)


@pytest.mark.parametrize("shape", [
    {"tied": True}, {"layers": 1}, {"width": 3, "hidden": 5}, {"layers": 3, "tied": True}
], ids=str)  # fmt: skip
@pytest.mark.parametrize("form", ["zip", "old", "dict", "old dict", "nested", "parallel", "half"])
def test_forms_and_shapes(form: str, shape: dict[str, Any], folder: Path) -> None:
    model = make_model(3, **shape)
    weights = model.state_dict()
    value: Any = {
        "dict": weights, "old dict": weights, "nested": {"epoch": 3, "state_dict": weights},
        "parallel": {f"module.{name}": weight for name, weight in weights.items()},
    }.get(form, model)  # fmt: skip
    if form == "half":
        model.half()
    path = save(value, folder / "model.pt", is_zip="old" not in form)
    found = _opened(path, folder / "run").word_log_probs(SENTENCES)
    _compare(found, step_by_step(model, SENTENCES, "eos"))
    stored = (folder / "run" / "weights.safetensors").stat().st_size
    count = sum(weight.numel() for weight in model.parameters())
    assert 4 * count < stored < 4 * count + 2000  # tied weights are stored once


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_other_precisions(dtype: torch.dtype, folder: Path) -> None:
    model = make_model(4).to(dtype)
    path = save(model, folder / "model.pt")
    found = _opened(path, folder / "run").word_log_probs(SENTENCES)
    _compare(found, step_by_step(model, SENTENCES, "eos"))


def test_weights_as_safetensors(folder: Path) -> None:
    model = make_model(5)
    save_file(model.state_dict(), folder / "model.safetensors")
    found = _opened(folder / "model.safetensors", folder / "run").word_log_probs(SENTENCES)
    _compare(found, step_by_step(model, SENTENCES, "eos"))


def test_weights_that_are_views_of_one_storage(folder: Path) -> None:
    """On a GPU, the weights of an LSTM are parts of one array."""
    model = make_model(6)
    flat = torch.cat([weight.flatten() for weight in model.rnn.parameters()])
    place = 0
    for weight in model.rnn.parameters():
        weight.data = flat[place : place + weight.numel()].view(weight.shape)
        place += weight.numel()
    model.decoder.weight.data = model.decoder.weight.data.t().contiguous().t()  # other strides
    for is_zip in (True, False):
        path = save(model, folder / f"model{is_zip}.pt", is_zip=is_zip)
        found = _opened(path, folder / f"run{is_zip}").word_log_probs(SENTENCES)
        _compare(found, step_by_step(model, SENTENCES, "eos"))


@pytest.mark.parametrize("state", ["eos", "carry"])
def test_probabilities_add_up_to_one(state: State, folder: Path) -> None:
    scorer = _opened(save(make_model(7), folder / "model.pt"), folder / "run", state)
    scorer._network.double()
    words = [word for word in WORDS if scorer.knows(word)]
    for prefix in (["the", "cat"], []):
        total = sum(
            np.exp(scorer.word_log_probs([[*prefix, word]])[0][len(prefix)])
            for word in [*words, "something else"]
        )
        total += np.exp(scorer.word_log_probs([prefix])[0][-1])
        assert total == pytest.approx(1.0, abs=1e-12)


_some_words = strategies.lists(strategies.sampled_from([*WORDS, "zebra"]), max_size=6)


@settings(max_examples=40, deadline=None)
@given(sentences=strategies.lists(_some_words, max_size=8), order=strategies.randoms())
@pytest.mark.parametrize("state", ["eos", "fresh"])
def test_sentences_do_not_depend_on_each_other(
    state: State, sentences: list[list[str]], order: Any, tmp_path_factory: Any
) -> None:
    scorer = _same_model(state, tmp_path_factory)
    together = scorer.word_log_probs(sentences)
    assert [len(one) for one in together] == [len(one) + 1 for one in sentences]
    mixed = list(range(len(sentences)))
    order.shuffle(mixed)
    again = scorer.word_log_probs([sentences[number] for number in mixed])
    prefixes: dict[tuple[str, ...], float] = {}
    for place, number in enumerate(mixed):
        words, scores = sentences[number], together[number]
        np.testing.assert_allclose(again[place], scores, atol=1e-12)
        np.testing.assert_allclose(scorer.word_log_probs([words])[0], scores, atol=1e-12)
        assert np.isnan(scores).tolist() == [
            state == "fresh" and n == 0 for n in range(len(scores))
        ]
        for length, score in enumerate(scores[:-1], start=1):
            shared = prefixes.setdefault(tuple(scorer.seen_as(words[:length])), score)
            np.testing.assert_allclose(score, shared, atol=1e-12)


_MODELS: dict[str, GrnnLm] = {}


def _same_model(state: State, tmp_path_factory: Any) -> GrnnLm:
    if state not in _MODELS:
        folder = tmp_path_factory.mktemp("grnn")
        write_vocabulary(folder / "vocab.txt")
        scorer = _opened(save(make_model(8), folder / "model.pt"), folder / "run", state)
        scorer._network.double()
        _MODELS[state] = scorer
    return _MODELS[state]


def test_large_jobs_are_divided(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many tries, many parts of the softmax and many parts of a text give the same numbers."""
    from gardenpath.adopted import grnn as word_lstm

    path = save(make_model(9), folder / "model.pt")
    expected = {s: _opened(path, folder / s, s).word_log_probs(SENTENCES) for s in STATES}
    monkeypatch.setattr(grnn_lm, "_MOST_PREFIXES", 4)
    monkeypatch.setattr(grnn_lm, "_TEXT_TOKENS", 3)
    monkeypatch.setattr(word_lstm, "_MOST_LOGITS", 2 * len(WORDS))
    done: list[int] = []
    for state in STATES:
        adopted = _adopt(path, folder / f"{state}-again", state)
        scorer = FAMILY.open(
            adopted, folder / f"{state}-again", device="cpu", boundary=None, on_words=done.append
        )
        _compare(scorer.word_log_probs(SENTENCES), expected[state])
        assert len(done) > 3
        assert sum(done) == sum(map(len, SENTENCES))
        done.clear()


def test_only_carry_depends_on_the_order(folder: Path) -> None:
    path = save(make_model(10), folder / "model.pt")
    for state in STATES:
        scorer = _opened(path, folder / state, state)
        first = scorer.word_log_probs([["the", "cat"], ["dogs", "."]])
        other = scorer.word_log_probs([["sees", "cat"], ["dogs", "."]])
        is_same = np.allclose(first[1], other[1], equal_nan=True)
        assert is_same == (state != "carry")
        assert scorer.is_order_dependent == (state == "carry")
        model = GrnnModel(name="m", network=GrnnSettings(state=state))
        assert FAMILY.is_order_dependent(model) == (state == "carry")
        assert bool(FAMILY.notes(model, folder)) == (state != "eos")
        # A call begins a new text.
        again = scorer.word_log_probs([["the", "cat"], ["dogs", "."]])
        np.testing.assert_array_equal(np.concatenate(first), np.concatenate(again))


@pytest.mark.parametrize("state", STATES)
def test_no_sentences(state: State, folder: Path) -> None:
    scorer = _opened(save(make_model(11), folder / "model.pt"), folder / "run", state)
    assert scorer.word_log_probs([]) == []
    (only,) = scorer.word_log_probs([[]])
    assert len(only) == 1 and np.isnan(only[0]) == (state == "fresh")


def test_unknown_words(folder: Path) -> None:
    scorer = _opened(save(make_model(12), folder / "model.pt"), folder / "run")
    words = ["the", "THE", "The", "<unk>", "<eos>", "<s>", "que", "que\u00a0"]
    assert [scorer.knows(word) for word in words] == [1, 0, 1, 0, 0, 1, 0, 1]
    assert scorer.seen_as(words) == [
        *("the", "<unk>", "The", "<unk>", "<unk>", "<s>", "<unk>", "que\u00a0")
    ]


def test_other_symbols_and_none_for_unknown_words(folder: Path) -> None:
    words = tuple({"<eos>": "</s>", "<unk>": "oov"}.get(word, word) for word in WORDS)
    write_vocabulary(folder / "words", words)
    model = make_model(13)
    path = save(model, folder / "model.pt")
    given: dict[str, Any] = {"vocabulary": str(folder / "words"), "eos": "</s>"}
    scorer = _opened(path, folder / "run", **given, unknown="oov")
    expected = step_by_step(model, SENTENCES[:4], "eos")
    _compare(scorer.word_log_probs(SENTENCES[:4]), expected)
    closed = _opened(path, folder / "closed", **given)
    _compare(closed.word_log_probs(SENTENCES[:3]), expected[:3])
    with pytest.raises(GardenpathError, match=r"'zebra'.*<unk>"):
        closed.word_log_probs(SENTENCES)
    with pytest.raises(InputError, match=r"<eos>, which separates.*network\.eos"):
        _opened(path, folder / "none", vocabulary=str(folder / "words"))


@pytest.mark.parametrize("is_zip", [True, False], ids=["zip", "old"])
def test_the_vocabulary_of_a_pickled_corpus(is_zip: bool, tmp_path: Path) -> None:
    save(Corpus(WORDS), tmp_path / "corpus.pt", is_zip=is_zip)
    assert read_vocabulary_words(tmp_path / "corpus.pt", len(WORDS)) == WORDS
    save(Corpus(WORDS).dictionary, tmp_path / "dictionary.pt", is_zip=is_zip, pickle_protocol=4)
    assert read_vocabulary_words(tmp_path / "dictionary.pt", len(WORDS)) == WORDS


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a\nb\n", "has 2 words, but the model has 11"),
        ("the\ncat\n\ndog\n", r"vocab\.txt:3: expected one word"),
        ("the 3\ncat 2\n", r"vocab\.txt:1: expected one word, found 'the 3'"),
        ("\n".join(["the", *WORDS[:-1]]), "contains 'the' twice"),
        ("\n".join(WORDS).replace("<eos>", "eos"), "does not contain <eos>"),
    ],
)
def test_wrong_vocabularies(text: str, problem: str, folder: Path) -> None:
    (folder / "vocab.txt").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=problem):
        _opened(save(make_model(14), folder / "model.pt"), folder / "run")
    assert not list((folder / "run").iterdir())


def test_a_missing_vocabulary_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"vocab\.txt: cannot be opened"):
        _opened(save(make_model(15), tmp_path / "model.pt"), tmp_path / "run")


def _changed(change: str) -> Any:
    weights = make_model(16).state_dict()
    if change == "without bias":
        del weights["rnn.bias_ih_l0"]
    elif change == "gru":
        return torch.nn.GRU(2, 2)
    elif change == "other layers":
        weights["attention.weight"] = torch.zeros(2)
    elif change == "reverse":
        weights["rnn.weight_ih_l0_reverse"] = weights["rnn.weight_ih_l0"]
    elif change == "nan":
        weights["decoder.bias"][3] = torch.nan
    elif change == "narrow":
        weights["decoder.weight"] = weights["decoder.weight"][:, :3]
    elif change == "three gates":
        weights = {n: w[: len(w) // 4 * 3] if n[:3] == "rnn" else w for n, w in weights.items()}
    elif change == "numbers":
        return {"weights": 3}
    elif change == "list":
        return [make_model(16).state_dict()]
    return weights


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("without bias", "rnn.bias_ih_l0 has the shape None"),
        ("gru", "object of torch.nn.modules.rnn.GRU"),
        ("other layers", "weights of another network .'attention.weight'"),
        ("reverse", "weights of another network"),
        ("nan", "decoder.bias contains values that are not finite"),
        ("narrow", "decoder.weight has the shape .11, 3., expected .11, 6."),
        ("three gates", "expected"),
        ("numbers", "a dictionary, but not one of weights"),
        ("list", "neither a model nor its weights"),
    ],
)
@pytest.mark.parametrize("is_zip", [True, False], ids=["zip", "old"])
def test_other_networks(is_zip: bool, change: str, problem: str, folder: Path) -> None:
    path = save(_changed(change), folder / "model.pt", is_zip=is_zip)
    with pytest.raises(InputError, match=problem) as caught:
        _opened(path, folder / "run")
    assert caught.value.path == str(path) and "\n" not in str(caught.value)


def test_a_model_with_another_recurrence_is_named(folder: Path) -> None:
    model = make_model(17)
    model.rnn = torch.nn.GRU(6, 6, 2)  # type: ignore[assignment]
    with pytest.raises(InputError, match="its network is a GRU, not an LSTM"):
        _opened(save(model, folder / "model.pt"), folder / "run")
    model = make_model(17)
    model.encoder.max_norm = 1.0
    with pytest.raises(InputError, match="max_norm"):
        _opened(save(model, folder / "model.pt"), folder / "run")


def test_the_identity_is_that_of_the_content(folder: Path) -> None:
    names = {}
    for name, seed in {"one": 18, "same": 18, "other": 19}.items():
        source = save(make_model(seed), folder / f"{name}.pt", is_zip=name != "same")
        adopted = _adopt(source, folder / name)
        assert adopted.network.vocabulary is None
        names[name] = FAMILY.identity(adopted, folder / name)
    assert names["one"] == names["same"] != names["other"]
    write_vocabulary(folder / "vocab.txt", WORDS[::-1])
    adopted = _adopt(folder / "one.pt", folder / "turned")
    assert FAMILY.identity(adopted, folder / "turned") != names["one"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("words.json", b"[]"),
        ("words.json", b'["a", 3]'),
        ("words.json", b"{"),
        ("words.json", b'["<eos>", "a"]'),
        ("weights.safetensors", b"abc"),
    ],
)
def test_damaged_runs_are_named(name: str, content: bytes, folder: Path) -> None:
    scorer = _opened(save(make_model(20), folder / "model.pt"), folder / "run")
    (folder / "run" / name).write_bytes(content)
    with pytest.raises(DamagedRunError, match=name):
        scorer.word_log_probs([["the"]])


def test_weights_of_another_model_are_refused(folder: Path) -> None:
    scorer = _opened(save(make_model(21), folder / "model.pt"), folder / "run")
    write_vocabulary(folder / "vocab.txt", WORDS[:-1])
    other = save(make_model(21, words=len(WORDS) - 1), folder / "other.pt")
    _adopt(other, folder / "other")
    (folder / "other/weights.safetensors").rename(folder / "run/weights.safetensors")
    with pytest.raises(DamagedRunError, match=r"has 10 words, but words\.json next to it has 11"):
        scorer.word_log_probs([["the"]])


def test_the_converted_weights_are_those_of_the_module(folder: Path) -> None:
    model = make_model(22)
    weights = read_weights(save(model, folder / "model.pt"))
    network = WordLstm(weights)
    for name, weight in model.state_dict().items():
        assert torch.equal(network.state_dict()[name], weight)


def test_settings_are_kept(folder: Path) -> None:
    asked = GrnnModel(name="m", language="en", network=GrnnSettings(state="fresh"))
    (folder / "run").mkdir()
    adopted = FAMILY.adopt(asked, str(save(make_model(23), folder / "m.pt")), folder / "run")
    assert adopted == replace(asked, network=GrnnSettings(state="fresh"))
