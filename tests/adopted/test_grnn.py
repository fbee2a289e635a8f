"""Word-level LSTMs give the numbers of the module that was saved, however it was saved."""

from __future__ import annotations

import io
import os
import pickle
import pickletools
import struct
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies
from safetensors.torch import save_file

from gardenpath.adopted import grnn as grnn_lm
from gardenpath.adopted import pickles as pickle_machine
from gardenpath.adopted import pickles as pickled_calls
from gardenpath.adopted import pickles as torch_files
from gardenpath.adopted.families import GrnnFamily, GrnnModel, GrnnSettings
from gardenpath.adopted.grnn import GrnnLm, WordLstm, read_vocabulary_words, read_weights
from gardenpath.adopted.pickles import PICKLED_CLASSES
from gardenpath.errors import DamagedRunError, GardenpathError, InputError
from tests.adopted.word_models import (
    WORDS,
    Corpus,
    make_model,
    save,
    step_by_step,
    write_vocabulary,
)

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


@pytest.mark.filterwarnings("ignore:Couldn't retrieve source code")
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("is_zip", [True, False], ids=["zip", "old"])
def test_scores_are_those_of_the_module(is_zip: bool, state: State, folder: Path) -> None:
    model = make_model(1)
    path = save(model, folder / "model.pt", is_zip=is_zip)
    found = _opened(path, folder / "run", state).word_log_probs(SENTENCES)
    _compare(found, step_by_step(model, SENTENCES, state))


@pytest.mark.filterwarnings("ignore:Couldn't retrieve source code")
@pytest.mark.parametrize("state", STATES)
def test_the_computation_is_exact_in_double_precision(state: State, folder: Path) -> None:
    model = make_model(2, width=5, hidden=7, layers=3)
    scorer = _opened(save(model, folder / "model.pt"), folder / "run", state)
    scorer._network.double()
    expected = step_by_step(model, SENTENCES, state)
    _compare(scorer.word_log_probs(SENTENCES), expected, atol=1e-12)


@pytest.mark.filterwarnings("ignore:Couldn't retrieve source code")
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


@pytest.mark.filterwarnings("ignore:Couldn't retrieve source code")
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_other_precisions(dtype: torch.dtype, folder: Path) -> None:
    model = make_model(4).to(dtype)
    path = save(model, folder / "model.pt")
    found = _opened(path, folder / "run").word_log_probs(SENTENCES)
    _compare(found, step_by_step(model, SENTENCES, "eos"))


@pytest.mark.filterwarnings("ignore:Couldn't retrieve source code")
def test_weights_as_safetensors(folder: Path) -> None:
    model = make_model(5)
    save_file(model.state_dict(), folder / "model.safetensors")
    found = _opened(folder / "model.safetensors", folder / "run").word_log_probs(SENTENCES)
    _compare(found, step_by_step(model, SENTENCES, "eos"))


@pytest.mark.filterwarnings("ignore:Couldn't retrieve source code")
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


@pytest.mark.filterwarnings("ignore:Couldn't retrieve source code")
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


@pytest.mark.filterwarnings("ignore:Couldn't retrieve source code")
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


@pytest.mark.filterwarnings("ignore:Couldn't retrieve source code")
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


@pytest.mark.filterwarnings("ignore:Couldn't retrieve source code")
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


@pytest.mark.filterwarnings("ignore:Couldn't retrieve source code")
@pytest.mark.parametrize("state", STATES)
def test_no_sentences(state: State, folder: Path) -> None:
    scorer = _opened(save(make_model(11), folder / "model.pt"), folder / "run", state)
    assert scorer.word_log_probs([]) == []
    (only,) = scorer.word_log_probs([[]])
    assert len(only) == 1 and np.isnan(only[0]) == (state == "fresh")


@pytest.mark.filterwarnings("ignore:Couldn't retrieve source code")
def test_unknown_words(folder: Path) -> None:
    scorer = _opened(save(make_model(12), folder / "model.pt"), folder / "run")
    words = ["the", "THE", "The", "<unk>", "<eos>", "<s>", "que", "que\u00a0"]
    assert [scorer.knows(word) for word in words] == [1, 0, 1, 0, 0, 1, 0, 1]
    assert scorer.seen_as(words) == [
        *("the", "<unk>", "The", "<unk>", "<unk>", "<s>", "<unk>", "que\u00a0")
    ]


@pytest.mark.filterwarnings("ignore:Couldn't retrieve source code")
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


@pytest.mark.filterwarnings("ignore:Couldn't retrieve source code")
@pytest.mark.parametrize("is_zip", [True, False], ids=["zip", "old"])
def test_the_vocabulary_of_a_pickled_corpus(is_zip: bool, tmp_path: Path) -> None:
    save(Corpus(WORDS), tmp_path / "corpus.pt", is_zip=is_zip)
    assert read_vocabulary_words(tmp_path / "corpus.pt", len(WORDS)) == WORDS
    save(Corpus(WORDS).dictionary, tmp_path / "dictionary.pt", is_zip=is_zip, pickle_protocol=4)
    assert read_vocabulary_words(tmp_path / "dictionary.pt", len(WORDS)) == WORDS


@pytest.mark.filterwarnings("ignore:Couldn't retrieve source code")
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


@pytest.mark.filterwarnings("ignore:Couldn't retrieve source code")
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


@pytest.mark.filterwarnings("ignore:Couldn't retrieve source code")
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


@pytest.mark.filterwarnings("ignore:Couldn't retrieve source code")
def test_a_model_with_another_recurrence_is_named(folder: Path) -> None:
    model = make_model(17)
    model.rnn = torch.nn.GRU(6, 6, 2)  # type: ignore[assignment]
    with pytest.raises(InputError, match="its network is a GRU, not an LSTM"):
        _opened(save(model, folder / "model.pt"), folder / "run")
    model = make_model(17)
    model.encoder.max_norm = 1.0
    with pytest.raises(InputError, match="max_norm"):
        _opened(save(model, folder / "model.pt"), folder / "run")


@pytest.mark.filterwarnings("ignore:Couldn't retrieve source code")
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


@pytest.mark.filterwarnings("ignore:Couldn't retrieve source code")
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


@pytest.mark.filterwarnings("ignore:Couldn't retrieve source code")
def test_weights_of_another_model_are_refused(folder: Path) -> None:
    scorer = _opened(save(make_model(21), folder / "model.pt"), folder / "run")
    write_vocabulary(folder / "vocab.txt", WORDS[:-1])
    other = save(make_model(21, words=len(WORDS) - 1), folder / "other.pt")
    _adopt(other, folder / "other")
    (folder / "other/weights.safetensors").rename(folder / "run/weights.safetensors")
    with pytest.raises(DamagedRunError, match=r"has 10 words, but words\.json next to it has 11"):
        scorer.word_log_probs([["the"]])


@pytest.mark.filterwarnings("ignore:Couldn't retrieve source code")
def test_the_converted_weights_are_those_of_the_module(folder: Path) -> None:
    model = make_model(22)
    weights = read_weights(save(model, folder / "model.pt"))
    network = WordLstm(weights)
    for name, weight in model.state_dict().items():
        assert torch.equal(network.state_dict()[name], weight)


@pytest.mark.filterwarnings("ignore:Couldn't retrieve source code")
def test_settings_are_kept(folder: Path) -> None:
    asked = GrnnModel(name="m", language="en", network=GrnnSettings(state="fresh"))
    (folder / "run").mkdir()
    adopted = FAMILY.adopt(asked, str(save(make_model(23), folder / "m.pt")), folder / "run")
    assert adopted == replace(asked, network=GrnnSettings(state="fresh"))


# ----------------------------------------------------------------------------
# Pickles that would run code, or that lie about their tensors, are refused and run nothing.


# Opcodes with which pickles are written here by hand.
PROTO, STOP, MARK = b"\x80\x02", b".", b"("
REDUCE, BUILD, NEWOBJ, NEWOBJ_EX, OBJ = b"R", b"b", b"\x81", b"\x92", b"o"
TUPLE, TUPLE1, TUPLE2, EMPTY_TUPLE, EMPTY_DICT, EMPTY_LIST = (
    b"t",
    b"\x85",
    b"\x86",
    b")",
    b"}",
    b"]",
)
SETITEM, APPEND, BINPERSID, STACK_GLOBAL, NONE = b"s", b"a", b"Q", b"\x93", b"N"


def _global(module: str, name: str) -> bytes:
    return f"c{module}\n{name}\n".encode()


def _text(value: str) -> bytes:
    return b"X" + struct.pack("<I", len(value.encode())) + value.encode()


def _int(value: int) -> bytes:
    return b"L" + str(value).encode() + b"L\n"


def _ints(*values: int) -> bytes:
    return MARK + b"".join(map(_int, values)) + TUPLE


def _storage(count: int, *, kind: str = "FloatStorage", key: str = "0") -> bytes:
    fields = [_text("storage"), _global("torch", kind), _text(key), _text("cpu"), _int(count)]
    return MARK + b"".join(fields) + TUPLE + BINPERSID


def _tensor(
    storage: bytes, offset: int, shape: bytes, strides: bytes, *, function: str = "_rebuild_tensor"
) -> bytes:
    arguments = MARK + storage + _int(offset) + shape + strides + TUPLE
    return _global("torch._utils", function) + arguments + REDUCE


def _zip(program: bytes, **data: bytes) -> bytes:
    """A file of torch.save with this pickle."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("archive/data.pkl", program)
        for key, numbers in data.items():
            archive.writestr(f"archive/data/{key.removeprefix('d')}", numbers)
    return content.getvalue()


def _old(program: bytes) -> bytes:
    """The same in the old form, with one storage of four numbers."""
    system = {"protocol_version": 1001, "little_endian": True, "type_sizes": {}}
    head = [torch_files._MAGIC, 1001, system]
    return b"".join(
        [*(pickle.dumps(one, 2) for one in head), program, pickle.dumps(["0"], 2),
         struct.pack("<q", 4), np.zeros(4, dtype=np.float32).tobytes()]
    )  # fmt: skip


def _refused(content: bytes, folder: Path) -> str:
    path = folder / "hostile.pt"
    path.write_bytes(content)
    messages = set()
    for read in (read_weights, lambda path: read_vocabulary_words(path, 3)):
        with pytest.raises(InputError) as caught:
            read(path)
        assert caught.value.path == str(path)
        messages.add(str(caught.value))
    message = min(messages)
    assert "\n" not in message and len(message) < 500
    return message


class _Calls:
    """Calls a function when it is unpickled."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self._call = function, arguments

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return self._call


@pytest.fixture
def canary(tmp_path: Path) -> Iterator[Path]:
    """A folder that hostile pickles create; none of them does."""
    path = tmp_path / "canary"
    yield path
    assert not path.exists()


def _mkdir(path: Path) -> bytes:
    """The arguments of a call that creates the canary."""
    return _text(str(path)) + TUPLE1


def _programs(path: Path) -> dict[str, bytes]:
    """Programs that create the canary, or that would lead there, by the operations they use."""
    code = f"__import__('os').mkdir({str(path)!r})"
    mkdir = _mkdir(path)
    model = _global("model", "RNNModel")
    loader = _global("torch.serialization", "load")
    return {
        "reduce": _global("os", "mkdir") + mkdir + REDUCE,
        "posix": _global("posix", "mkdir") + mkdir + REDUCE,
        "system": _global("os", "system") + _text(f"mkdir {path}") + TUPLE1 + REDUCE,
        "eval": _global("builtins", "eval") + _text(code) + TUPLE1 + REDUCE,
        "exec": _global("__builtin__", "exec") + _text(code) + TUPLE1 + REDUCE,
        "getattr": _global("builtins", "getattr") + _global("os", "mkdir") + _text("__call__")
        + TUPLE2 + REDUCE + mkdir + REDUCE,
        "import": _global("builtins", "__import__") + _text("os") + TUPLE1 + REDUCE,
        "torch load": loader + _text(str(path)) + TUPLE1 + REDUCE,
        "torch jit": _global("torch.jit", "load") + _text(str(path)) + TUPLE1 + REDUCE,
        "torch hub": _global("torch.hub", "load") + _text(str(path)) + TUPLE1 + REDUCE,
        "torch utils": _global("torch.utils.cpp_extension", "load") + mkdir + REDUCE,
        "torch utils other": _global("torch._utils", "_import_dotted_name") + mkdir + REDUCE,
        "torch collect env": _global("torch.utils.collect_env", "run") + mkdir + REDUCE,
        "numpy": _global("numpy.core.multiarray", "_reconstruct") + mkdir + REDUCE,
        "numpy load": _global("numpy", "load") + mkdir + REDUCE,
        "numpy testing": _global("numpy.testing._private.utils", "runstring") + mkdir + REDUCE,
        "functools": _global("functools", "partial") + _global("os", "mkdir") + TUPLE1 + REDUCE,
        "operator": _global("operator", "methodcaller") + _text("mkdir") + TUPLE1 + REDUCE,
        "dotted": _text("torch") + _text("serialization.os.mkdir") + STACK_GLOBAL + mkdir + REDUCE,
        "dotted class": _text("model") + _text("RNNModel.__init__") + STACK_GLOBAL + mkdir + REDUCE,
        "dotted listed": _text("torch._utils") + _text("_rebuild_tensor.__globals__")
        + STACK_GLOBAL + EMPTY_TUPLE + REDUCE,
        "names on the stack": _text("os") + _text("mkdir") + STACK_GLOBAL + mkdir + REDUCE,
        "name of another type": _int(3) + _text("mkdir") + STACK_GLOBAL,
        "inst": MARK + _text(str(path)) + b"ios\nmkdir\n",
        "inst of a model": MARK + b"imodel\nRNNModel\n",
        "obj": MARK + _global("os", "mkdir") + _text(str(path)) + OBJ,
        "obj of a model": MARK + model + OBJ,
        "newobj": _global("os", "mkdir") + mkdir + NEWOBJ,
        "newobj with arguments": model + mkdir + NEWOBJ,
        "newobj of a function": _global("torch._utils", "_rebuild_tensor") + EMPTY_TUPLE + NEWOBJ,
        "newobj with keywords": model + EMPTY_TUPLE + EMPTY_DICT + NEWOBJ_EX,
        "model called": model + mkdir + REDUCE,
        "model of another module": _global("evil", "RNNModel") + EMPTY_TUPLE + NEWOBJ,
        "another class of torch": _global("torch.nn.modules.container", "Sequential")
        + EMPTY_TUPLE + NEWOBJ,
        "build a name": model + EMPTY_DICT + BUILD,
        "build a function": _global("torch._utils", "_rebuild_tensor") + EMPTY_DICT
        + _text("__code__") + NONE + SETITEM + BUILD,
        "build a list": EMPTY_LIST + EMPTY_DICT + BUILD,
        "build with slots": model + EMPTY_TUPLE + NEWOBJ + NONE + EMPTY_DICT + TUPLE2 + BUILD,
        "setstate": model + EMPTY_TUPLE + NEWOBJ + EMPTY_DICT + _text("__setstate__")
        + _global("os", "mkdir") + SETITEM + BUILD + _text(str(path)) + BUILD,
        "call of a result": _global("collections", "OrderedDict") + EMPTY_TUPLE + REDUCE
        + mkdir + REDUCE,
        "ordered dict": _global("collections", "OrderedDict") + _text("ab") + TUPLE1 + REDUCE,
        "ordered dict of lists": _global("collections", "OrderedDict") + EMPTY_LIST + EMPTY_LIST
        + APPEND + TUPLE1 + REDUCE,
        "append to a tuple": EMPTY_TUPLE + NONE + APPEND,
        "item of a list": EMPTY_LIST + NONE + NONE + SETITEM,
        "extension": b"\x82\x01",
        "text reference": b"Pstorage\n",
        "text as reference": _text("os") + BINPERSID,
        "name as reference": _global("os", "mkdir") + BINPERSID,
        "odd reference": MARK + _text("os") + _global("os", "mkdir") + TUPLE + BINPERSID,
        "module without class": MARK + _text("module") + mkdir + NONE + NONE + TUPLE + BINPERSID,
        "module of code": MARK + _text("module") + _global("os", "mkdir") + NONE + NONE + TUPLE
        + BINPERSID + mkdir + REDUCE,
        "storage of another type": MARK + _text("storage") + _global("os", "mkdir") + _text("0")
        + _text("cpu") + _int(4) + TUPLE + BINPERSID,
        "storage with a view": MARK + _text("storage") + _global("torch", "FloatStorage")
        + _text("0") + _text("cpu") + _int(4) + _ints(1, 2, 3) + TUPLE + BINPERSID,
        "quantised": _tensor(_storage(4, kind="QInt8Storage"), 0, _ints(4), _ints(1)),
        "two types": _storage(4) + _storage(4, kind="DoubleStorage"),
        "tensor of a list": _tensor(EMPTY_LIST, 0, _ints(4), _ints(1)),
        "tensor without arguments": _global("torch._utils", "_rebuild_tensor") + EMPTY_TUPLE
        + REDUCE,
        "parameter of a text": _global("torch._utils", "_rebuild_parameter") + mkdir + REDUCE,
        "nothing": b"",
        "mark alone": MARK,
        "tuple without mark": TUPLE,
        "unknown memory": b"h\x07",
        "huge number in memory": NONE + b"p" + b"9" * 30 + b"\n",
    }  # fmt: skip


NAMES = tuple(_programs(Path("x")))


@pytest.mark.filterwarnings("ignore:Couldn't retrieve source code")
@pytest.mark.parametrize("name", NAMES)
def test_nothing_runs(name: str, tmp_path: Path, canary: Path) -> None:
    program = PROTO + _programs(canary)[name] + STOP
    for content in (_zip(program, d0=bytes(16)), _old(program)):
        _refused(content, tmp_path)
        assert not canary.exists()


@pytest.mark.filterwarnings("ignore:Couldn't retrieve source code")
@pytest.mark.parametrize("name", ["reduce", "eval", "dotted", "inst", "obj", "newobj"])
def test_the_programs_are_dangerous(name: str, tmp_path: Path) -> None:
    """Python itself runs them; otherwise the tests above would say nothing."""
    canary = tmp_path / "canary"
    with pytest.raises(Exception) if name == "newobj" else _nothing():
        pickle.loads(b"\x80\x04" + _programs(canary)[name] + STOP)  # noqa: S301
    assert canary.is_dir() or name == "newobj"


class _nothing:  # noqa: N801
    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass


@pytest.mark.filterwarnings("ignore:Couldn't retrieve source code")
@pytest.mark.parametrize("is_zip", [True, False], ids=["zip", "old"])
@pytest.mark.parametrize("place", ["whole", "attribute", "weight", "hook"])
def test_code_inside_a_model(place: str, is_zip: bool, tmp_path: Path, canary: Path) -> None:
    model: Any = make_model(1)
    bird = _Calls(os.mkdir, str(canary))
    if place == "attribute":
        model.extra = bird
    elif place == "hook":
        model.register_forward_hook(torch.nn.functional.relu)
    value = {"whole": bird, "weight": {"encoder.weight": bird}}.get(place, model)
    path = save(value, tmp_path / "m.pt", is_zip=is_zip)
    message = _refused(path.read_bytes(), tmp_path)
    assert ("names posix.mkdir" in message) == (place != "hook")
    assert "state_dict()" in message


@pytest.mark.filterwarnings("ignore:Couldn't retrieve source code")
@pytest.mark.parametrize(
    ("tensor", "problem"),
    [
        (_tensor(_storage(4), 0, _ints(1 << 40), _ints(1)), "larger than its data"),
        (_tensor(_storage(4), 0, _ints(1 << 60), _ints(1)), "impossible size"),
        (_tensor(_storage(4), 0, _ints(-1), _ints(1)), "impossible size"),
        (_tensor(_storage(4), -4, _ints(4), _ints(1)), "impossible size"),
        (_tensor(_storage(4), 0, _ints(4), _ints(-1)), "impossible size"),
        (_tensor(_storage(4), 1, _ints(4), _ints(1)), "larger than its data"),
        (_tensor(_storage(4), 0, _ints(2, 2), _ints(3, 1)), "larger than its data"),
        (_tensor(_storage(4), 0, _ints(1 << 20, 1 << 20), _ints(0, 0)), "larger than its data"),
        (_tensor(_storage(4), 0, _ints(5), _ints(0)), "larger than its data"),
        (_tensor(_storage(4), 0, _ints(2, 2), _ints(1)), "impossible size"),
        (_tensor(_storage(4), 0, _ints(*[1] * 9), _ints(*[1] * 9)), "impossible size"),
        (_tensor(_storage(4), 0, _text("4"), _ints(1)), "impossible size"),
        (_tensor(_storage(4), 0, _global("torch", "Size"), _ints(1)), "impossible size"),
        (_tensor(_storage(5), 0, _ints(4), _ints(1)), "data of a tensor are"),
        (_tensor(_storage(1 << 40), 0, _ints(4), _ints(1)), "data of a tensor are"),
        (_tensor(_storage(4, key="1"), 0, _ints(4), _ints(1)), "data of a tensor are"),
        (_tensor(_storage(4, key="../data.pkl"), 0, _ints(4), _ints(1)), "data of a tensor are"),
    ],
)
@pytest.mark.parametrize("pack", [lambda p: _zip(p, d0=bytes(16)), _old], ids=["zip", "old"])
def test_tensors_that_are_not_there(
    tensor: bytes, problem: str, pack: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    program = PROTO + EMPTY_DICT + _text("encoder.weight") + tensor + SETITEM + STOP
    path = tmp_path / "m.pt"
    path.write_bytes(pack(program))
    with pytest.raises(InputError, match=problem):
        read_weights(path)


@pytest.mark.filterwarnings("ignore:Couldn't retrieve source code")
def test_a_tensor_that_is_there(tmp_path: Path) -> None:
    """The programs above are wrong only where they are meant to be."""
    tensor = _tensor(_storage(4), 1, _ints(3, 1), _ints(1, 1))
    program = PROTO + EMPTY_DICT + _text("encoder.weight") + tensor + SETITEM + STOP
    for content in (_zip(program, d0=np.arange(4, dtype="<f4").tobytes()), _old(program)):
        path = tmp_path / "m.pt"
        path.write_bytes(content)
        with pytest.raises(InputError, match="the weights of encoder, rnn or decoder are missing"):
            read_weights(path)
    with torch_files.open_torch_file(path) as file:
        found = file.array(file.content.named()["encoder.weight"])
    assert found.tolist() == [[0.0], [0.0], [0.0]]


@pytest.mark.filterwarnings("ignore:Couldn't retrieve source code")
def test_a_negated_view_is_refused(tmp_path: Path) -> None:
    arguments = MARK + _storage(4) + _int(0) + _ints(4) + _ints(1) + b"\x89" + EMPTY_DICT
    metadata = EMPTY_DICT + _text("neg") + b"\x88" + SETITEM
    program = _global("torch._utils", "_rebuild_tensor_v2") + arguments + metadata + TUPLE + REDUCE
    message = _refused(_zip(PROTO + program + STOP, d0=bytes(16)), tmp_path)
    assert "negated or conjugated" in message


@pytest.mark.filterwarnings("ignore:Couldn't retrieve source code")
@pytest.mark.parametrize("is_zip", [True, False], ids=["zip", "old"])
def test_truncated_files(is_zip: bool, tmp_path: Path) -> None:
    content = save(make_model(2), tmp_path / "m.pt", is_zip=is_zip).read_bytes()
    for end in [0, 1, 3, 10, *range(50, len(content), 397), len(content) - 1]:
        (tmp_path / "m.pt").write_bytes(content[:end])
        with pytest.raises(InputError, match="not a model that can be converted"):
            read_weights(tmp_path / "m.pt")


def _other_zips() -> dict[str, bytes]:
    program = PROTO + EMPTY_DICT + STOP
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", program + bytes(1 << 20))
    script, big, plain, two = io.BytesIO(), io.BytesIO(), io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(script, "w") as archive:
        archive.writestr("a/data.pkl", program)
        archive.writestr("a/constants.pkl", program)
    with zipfile.ZipFile(big, "w") as archive:
        archive.writestr("a/data.pkl", program)
        archive.writestr("a/byteorder", "big")
    with zipfile.ZipFile(plain, "w") as archive:
        archive.writestr("document.xml", "<a/>")
    with zipfile.ZipFile(two, "w") as archive:
        archive.writestr("a/data.pkl", program)
        archive.writestr("b/data.pkl", program)
    return {
        "compressed": packed.getvalue(),
        "TorchScript": script.getvalue(),
        "big-endian": big.getvalue(),
        "but not one of torch.save": plain.getvalue(),
        "not one of torch.save": two.getvalue(),
    }


@pytest.mark.filterwarnings("ignore:Couldn't retrieve source code")
@pytest.mark.parametrize("problem", _other_zips())
def test_other_zip_files(problem: str, tmp_path: Path) -> None:
    assert problem in _refused(_other_zips()[problem], tmp_path)


@pytest.mark.filterwarnings("ignore:Couldn't retrieve source code")
def test_old_files_of_other_kinds(tmp_path: Path) -> None:
    system = {"little_endian": False}
    magic = torch_files._MAGIC
    for values, problem in {
        (1, 2): "damaged",
        (magic, 1000, None): "not a file of torch.save",
        ("magic", 1001, None): "not a file of torch.save",
        (magic, 1001, 3): "big-endian",
    }.items():
        content = b"".join(pickle.dumps(value, 2) for value in values)
        assert problem in _refused(content, tmp_path)
    content = b"".join(pickle.dumps(value, 2) for value in (magic, 1001, system))
    assert "big-endian" in _refused(content, tmp_path)
    assert "damaged" in _refused(b"\x00" * 1000, tmp_path)
    assert "damaged" in _refused(b"the\ncat\n", tmp_path)


@pytest.mark.filterwarnings("ignore:Couldn't retrieve source code")
@pytest.mark.parametrize("length", [1 << 31, (1 << 32) - 1])
def test_lengths_are_checked_before_memory_is_reserved(length: int, tmp_path: Path) -> None:
    program = PROTO + b"X" + struct.pack("<I", length) + b"short" + STOP
    for content in (_zip(program), _old(program)):
        assert "damaged" in _refused(content, tmp_path)


@pytest.mark.filterwarnings("ignore:Couldn't retrieve source code")
def test_long_programs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pickle_machine, "MOST_OPERATIONS", 1000)
    program = PROTO + EMPTY_LIST + (NONE + APPEND) * 1000 + STOP
    assert "too long" in _refused(_zip(program), tmp_path)


@pytest.mark.filterwarnings("ignore:Couldn't retrieve source code")
def test_deep_and_shared_values_take_little_time(tmp_path: Path) -> None:
    deep = PROTO + EMPTY_TUPLE + TUPLE1 * 10_000 + STOP
    shared = EMPTY_LIST + b"".join(b"2aq\x00h\x00" for _ in range(50))  # lists in themselves
    doubled = PROTO + EMPTY_TUPLE + (b"2" + TUPLE2) * 200 + STOP
    for program in (deep, PROTO + shared + STOP, doubled):
        _refused(_zip(program), tmp_path)
    for inside in (deep, doubled):
        program = PROTO + EMPTY_DICT + _text("a") + inside[2:-1] + SETITEM + STOP
        _refused(_zip(program), tmp_path)
        key = PROTO + EMPTY_DICT + inside[2:-1] + NONE + SETITEM + STOP
        _refused(_zip(key), tmp_path)
        reference = PROTO + inside[2:-1] + BINPERSID + STOP
        _refused(_zip(reference), tmp_path)
        argument = PROTO + _global("torch", "Size") + inside[2:-1] + REDUCE + STOP
        _refused(_zip(argument), tmp_path)


@pytest.mark.filterwarnings("ignore:Couldn't retrieve source code")
def test_all_operations_are_known_or_refused() -> None:
    known = {*pickle_machine._IGNORED, *pickle_machine._CONSTANTS}
    known |= {*pickle_machine._TEXTS, *pickle_machine._OPERATIONS}
    names = {operation.name for operation in pickletools.opcodes}
    assert known < names
    assert names - known == {
        *("INST", "OBJ", "NEWOBJ_EX", "PERSID", "EXT1", "EXT2", "EXT4", "FROZENSET"),
        *("BYTEARRAY8", "NEXT_BUFFER", "READONLY_BUFFER"),
    }


@pytest.mark.filterwarnings("ignore:Couldn't retrieve source code")
def test_the_list_of_names_is_short_and_exact() -> None:
    """A new name here is a decision: its call is made by our own code, never by Python."""
    functions = pickled_calls.CALLS
    assert all(function.__module__ == pickled_calls.__name__ for function in functions.values())
    assert {str(name) for name in functions} == {
        "torch._utils._rebuild_tensor", "torch._utils._rebuild_tensor_v2",
        "torch._utils._rebuild_parameter", "torch.nn.parameter.Parameter", "torch.Size",
        "torch.nn.backends.thnn._get_thnn_function_backend", "collections.OrderedDict",
        "collections.defaultdict", "collections.Counter", "__builtin__.set", "builtins.set",
    }  # fmt: skip
    assert {name.module for name in PICKLED_CLASSES} == {
        "model", "__main__", "language_models.model", "src.language_models.model", "data",
        "torch.nn.modules.sparse", "torch.nn.modules.rnn", "torch.nn.modules.linear",
        "torch.nn.modules.dropout",
    }  # fmt: skip


@pytest.mark.filterwarnings("ignore:Couldn't retrieve source code")
def test_listed_functions_attached_to_a_model_are_refused(tmp_path: Path) -> None:
    model = make_model(3)
    model.encoder.register_forward_hook(torch.Size)  # type: ignore[arg-type]
    message = _refused(save(model, tmp_path / "m.pt").read_bytes(), tmp_path)
    assert "change its results" in message or "not a corpus" in message


@pytest.mark.filterwarnings("ignore:Couldn't retrieve source code")
def test_pickles_of_old_versions(tmp_path: Path) -> None:
    """Python 2 and PyTorch 0.3: byte strings, parameters as calls, entries as lists."""
    tensor = _tensor(_storage(4), 0, _ints(4), _ints(1))
    state = MARK + b"\x88\x89" + _global("collections", "OrderedDict") + EMPTY_TUPLE + REDUCE
    parameter = _global("torch.nn.parameter", "Parameter") + tensor + TUPLE1 + REDUCE
    parameter += state + TUPLE + BUILD
    name = b"U" + bytes([len("caf\u00e9".encode())]) + "caf\u00e9".encode()
    entry = EMPTY_LIST + MARK + name + parameter + b"e"
    entries = EMPTY_LIST + entry + APPEND
    program = PROTO + _global("collections", "OrderedDict") + entries + TUPLE1 + REDUCE + STOP
    path = tmp_path / "m.pt"
    path.write_bytes(_old(program))
    with torch_files.open_torch_file(path) as file:
        (found,) = file.content.named().items()
        assert found[0] == "caf\u00e9" and file.array(found[1]).tolist() == [0.0] * 4


# ----------------------------------------------------------------------------
# What the published surprisals of word-level LSTMs tell about the state before a sentence.


_FOLDERS = ("reflexives/surprisal", "reflexives_more/surprisal")


def _files(published: Path) -> list[Path]:
    found = [
        path
        for folder in _FOLDERS
        for model in ("grnn", "tiny")
        for path in sorted((published / folder / model).rglob("*.txt"))
    ]
    return [*found, *sorted((published / "suppression").rglob("gulordava_output.tsv"))]


def _sentences(path: Path) -> Iterator[list[tuple[str, str]]]:
    """The words and values of each sentence; some files repeat the end symbol."""
    sentence: list[tuple[str, str]] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        word, value = line.split()[-2:]
        sentence.append((word, value))
        if word == "<eos>":
            if len(sentence) > 1:
                yield sentence
            sentence = []


def test_equal_beginnings_have_equal_values_and_no_first_word_is_predicted(
    reference_data: Path,
) -> None:
    files = _files(reference_data / "published")
    assert len(files) == 23
    for path in files:
        values: dict[tuple[str, ...], str] = {}
        repeated = 0
        for sentence in _sentences(path):
            words = tuple(word for word, _ in sentence)
            assert float(sentence[0][1]) == 0.0
            for length, (_, value) in enumerate(sentence, start=1):
                repeated += words[:length] in values
                assert values.setdefault(words[:length], value) == value
        assert repeated > 100
