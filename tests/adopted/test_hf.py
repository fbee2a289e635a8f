"""Causal models of Hugging Face keep the contract of scorers, with every kind of tokeniser."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from transformers import GPT2Config

from gardenpath.adopted.covers import ENDING, Contexts, TokenBytes, TokenSets
from gardenpath.adopted.hf import ContextScores, Windows, require_causal
from gardenpath.data.words.pieces import Boundary, joined_words
from gardenpath.errors import GardenpathError
from tests.adopted import tiny_models
from tests.adopted.tiny_models import KINDS, SENTENCES, Kind, scorer, scorer_of
from tests.models import samples as contract

EXACT = 1e-9
# Words that none of the others begins: each is followed by a blank, a stop or the end.
NEXT_WORDS = [
    "king",
    "kings",
    "cat",
    "cats",
    "dog",
    "k",
    "ki",
    "is",
    "do",
    "zebra",
    ".",
    "他",
    "书",
]


@pytest.mark.parametrize("boundary", ["next", "leading"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_contract_holds(kind: Kind, boundary: Boundary) -> None:
    made = scorer(kind, boundary)
    contract.check_form(made, SENTENCES)
    contract.check_single(made, SENTENCES, atol=EXACT)
    contract.check_order(made, SENTENCES, atol=EXACT)
    assert contract.check_prefixes(made, SENTENCES, atol=EXACT) >= 10
    contract.check_every_prefix(made, SENTENCES[2], atol=EXACT)
    contract.check_every_prefix(made, SENTENCES[-1], atol=EXACT)


@pytest.mark.parametrize("kind", KINDS)
def test_the_next_words_add_up_to_at_most_one(kind: Kind) -> None:
    for context in (["the"], ["the", "king"], ["他", "喜欢"], []):
        assert contract.sum_of_probabilities(scorer(kind), context, NEXT_WORDS) <= 1.0


@pytest.mark.parametrize("kind", KINDS)
def test_all_boundaries_give_sentences_the_same_probability(kind: Kind) -> None:
    sentence = ["the", "kings", "see", "zebras"]
    totals = [scorer(kind, b).word_log_probs([sentence])[0].sum() for b in _BOUNDARIES]
    np.testing.assert_allclose(
        totals, _of_tokens(kind, joined_words(sentence, "auto").text), rtol=1e-10
    )


_BOUNDARIES: tuple[Boundary, ...] = ("none", "next", "leading")


def _of_tokens(kind: Kind, text: str) -> float:
    """Log probability of the tokens of a text and of its end, read alone."""
    tokeniser = tiny_models.tokeniser(kind)
    end = tokeniser.eos_token_id
    begin = end if tokeniser.bos_token_id is None else tokeniser.bos_token_id
    tokens = [begin, *tokeniser(text, add_special_tokens=False).input_ids, end]
    network = tiny_models.model(kind, len(tokeniser) + 3)
    with torch.inference_mode():
        logits = network(input_ids=torch.tensor([tokens])).logits[0].log_softmax(-1)
    return float(logits[torch.arange(len(tokens) - 1), tokens[1:]].sum())


@pytest.mark.parametrize("kind", KINDS)
def test_characters_words_and_sentences_are_differences_of_prefixes(kind: Kind) -> None:
    made = scorer(kind, "leading")
    for words in (SENTENCES[6], SENTENCES[7], SENTENCES[8]):
        text = joined_words(words, "auto")
        found = made.prefix_log_probs(text.text, range(len(text.text) + 1))
        assert found.log_probs[0] == 0.0
        assert (np.diff(found.log_probs) <= 1e-12).all()
        (expected,) = made.word_log_probs([words])
        places = [0, *text.ends]
        np.testing.assert_allclose(np.diff(found.log_probs[places]), expected[:-1], atol=EXACT)
        assert found.end - found.log_probs[-1] == pytest.approx(expected[-1], abs=EXACT)


@pytest.mark.parametrize("kind", KINDS)
def test_continuations_by_any_character_add_up_to_at_most_one(kind: Kind) -> None:
    made = scorer(kind)
    characters = sorted({character for text in tiny_models.TEXTS for character in text} | {"𠮷"})
    for prefix in ("", "他研究", "学生看", "the ki", "他喜欢caf"):
        longer = [prefix + character for character in characters]
        ends = [[len(prefix)], *([len(one)] for one in longer)]
        alone, *found = made.all_prefix_log_probs([prefix, *longer], ends)
        total = np.logaddexp.reduce([one.log_probs[0] for one in found] + [alone.end])
        assert total <= alone.log_probs[0] + 1e-12


class _AddsS(torch.nn.Module):
    """A model in which s follows g, and otherwise everything is equally probable."""

    config, device, dtype = GPT2Config(vocab_size=8), torch.device("cpu"), torch.float64

    def forward(self, input_ids: torch.Tensor, **_: Any) -> Any:
        logits = torch.zeros((*input_ids.shape, 8), dtype=torch.float64)
        logits[..., 4] = torch.where(input_ids == 3, 5.0, 0.0)
        return SimpleNamespace(logits=logits)


def test_king_can_lose_against_kings() -> None:
    """By its pieces, king is at least as probable as kings in every model."""
    tokeniser = tiny_models.small_tokeniser(("k", "i", "n", "g", "s", "▁", "a"), [])

    def log_prob(boundary: Boundary, word: str) -> float:
        return float(scorer_of(_AddsS(), tokeniser, boundary).word_log_probs([[word]])[0][0])

    assert log_prob("none", "king") > log_prob("none", "kings")
    assert log_prob("next", "king") < log_prob("next", "kings")


# ---- The beginning.


class _Recording:
    """Records what a network reads."""

    def __init__(self, network: Any) -> None:
        self.read: list[list[int]] = []
        network.register_forward_pre_hook(self._note, with_kwargs=True)

    def _note(self, _: Any, __: Any, given: dict[str, Any]) -> None:
        self.read += given["input_ids"].tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_there_is_exactly_one_begin(kind: Kind) -> None:
    tokeniser = tiny_models.tokeniser(kind)
    network = tiny_models.model(kind, len(tokeniser) + 3)
    made = scorer(kind, network=network)
    begin = tokeniser.eos_token_id if kind in ("gpt2", "qwen") else tokeniser.bos_token_id
    made.check()
    recording = _Recording(network)
    made.word_log_probs(SENTENCES[:1])
    assert recording.read
    assert all(one[0] == begin and begin not in one[1:] for one in recording.read)
    assert any("EOS stands before" in note for note in made.notes) == (kind == "qwen")


@pytest.mark.parametrize("bos", ["none", "auto"])
def test_without_a_begin_the_first_word_has_no_probability(bos: str) -> None:
    """The tokenisers of the tests add none."""
    made = scorer("gpt2", bos=bos)
    assert any(f"bos={bos}" in note and "NaN" in note for note in made.notes)
    sentence = ["the", "kings", "see", "zebras", "."]
    (found,) = made.word_log_probs([sentence])
    assert np.isnan(found[0]) and np.isfinite(found[1:]).all()
    tokens = tiny_models.tokeniser("gpt2")("the kings see zebras.").input_ids
    network = tiny_models.model("gpt2", len(tiny_models.tokeniser("gpt2")) + 3)
    with torch.inference_mode():
        logits = network(input_ids=torch.tensor([tokens])).logits[0].log_softmax(-1)
    (by_tokens,) = scorer("gpt2", "none", bos=bos).word_log_probs([sentence])
    expected = float(logits[torch.arange(len(tokens) - 1), tokens[1:]].sum())
    assert np.nansum(by_tokens[:-1]) == pytest.approx(expected, rel=1e-10)
    assert by_tokens[-1] == pytest.approx(float(logits[-1, 0]), rel=1e-10)
    assert np.isnan(made.prefix_log_probs("the", [0, 1, 3]).log_probs).all()


def test_without_a_begin_words_are_defined_if_the_first_token_stays() -> None:
    """研究生命 is one token: the first token changes with every word, except from 他."""
    made = scorer("gpt2", bos="none")
    first, second = made.word_log_probs([["研究", "生命", "。"], ["他", "研究", "生命", "。"]])
    assert np.isnan(first[:2]).all() and np.isnan(second[0])
    assert np.isfinite(second[1:]).all() and (second[1:] <= 0).all()


def test_auto_keeps_the_begin_of_the_tokeniser() -> None:
    from tokenizers import processors

    tokeniser = tiny_models.tokeniser("llama")
    backend = tokeniser.backend_tokenizer
    template = processors.TemplateProcessing(
        single="<bos> $A", special_tokens=[("<bos>", tokeniser.bos_token_id)]
    )
    before = backend.post_processor
    backend.post_processor = template
    try:
        made = scorer("llama", bos="auto")
        expected = scorer("llama").word_log_probs(SENTENCES)
    finally:
        backend.post_processor = before or processors.Sequence([])
    assert made.notes == ("bos=auto: the tokeniser puts a BOS before sentences",)
    for one, other in zip(made.word_log_probs(SENTENCES), expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_model_without_begin_and_end_is_refused() -> None:
    tokeniser = tiny_models.small_tokeniser(("a", "b", "▁"), [])
    tokeniser.bos_token = tokeniser.eos_token = None
    network = tiny_models.model("gpt2", 4)
    with pytest.raises(GardenpathError, match="set bos=none"):
        scorer_of(network, tokeniser, "leading")
    (found,) = scorer_of(network, tokeniser, "leading", bos="none").word_log_probs([["a", "b"]])
    assert np.isnan(found).tolist() == [True, False, True]


# ---- What else users see.


def test_tokens_are_shown_with_their_words() -> None:
    made = scorer("qwen")
    assert made.seen_as(["the", "kings", "zzz", "."]) == ["the", "▁kings", "▁ z z z", "."]
    assert made.seen_as(["研究", "生命"]) == ["研究生命", "研究生命"]
    assert scorer("llama").seen_as(["the", "𠮷"])[1] == "<0xF0> <0xA0> <0xAE> <0xB7>"


def test_words_with_unknown_characters_are_not_known() -> None:
    assert scorer("llama").knows("𠮷") and scorer("gpt2").knows("𠮷")
    tokeniser = tiny_models.small_tokeniser(("a", "b"), [])
    network = tiny_models.model("gpt2", 3)
    made = scorer_of(network, tokeniser, "leading")
    assert made.knows("ab") and not made.knows("abc")
    with pytest.raises(GardenpathError, match="the tokeniser changes the text 'abc'"):
        made.word_log_probs([["abc"]])


@pytest.mark.parametrize("text", ["cafe\u0301", f"the {tiny_models.END}"])
def test_text_that_the_tokeniser_changes_is_refused(text: str) -> None:
    with pytest.raises(GardenpathError, match="the tokeniser changes the text"):
        scorer("qwen").word_log_probs([text.split()])


@pytest.mark.parametrize("boundaries", [[2, 1], [4], [-1]])
def test_boundaries_are_places_in_the_text(boundaries: list[int]) -> None:
    with pytest.raises(GardenpathError, match="boundaries must ascend from 0 to 3"):
        scorer("gpt2").prefix_log_probs("the", boundaries)


def test_progress_counts_all_words() -> None:
    counts: list[int] = []
    made = scorer("gpt2", on_words=counts.append, batch_tokens=16)
    made.word_log_probs(SENTENCES)
    assert sum(counts) == sum(len(words) for words in SENTENCES)
    assert len(counts) > 3


@pytest.mark.parametrize("spacing", ["blanks", "none", "natural"])
def test_spacing_changes_what_is_read(spacing: str) -> None:
    sentence = ["他", "喜欢", "书", "."]
    (found,) = scorer("gpt2", spacing=spacing).word_log_probs([sentence])
    (usual,) = scorer("gpt2").word_log_probs([sentence])
    assert (spacing == "none") == bool(np.allclose(found.sum(), usual.sum()))


@pytest.mark.parametrize("size", [1, 7, 40])
@pytest.mark.parametrize("kind", ["gpt2", "gemma"])
def test_the_size_of_batches_does_not_matter(kind: Kind, size: int) -> None:
    expected = scorer(kind).word_log_probs(SENTENCES)
    found = scorer(kind, batch_tokens=size).word_log_probs(SENTENCES)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=EXACT)


def test_negation_is_part_of_what_may_follow() -> None:
    """The words that follow "they do" add up to at most one, with n't among them."""
    made = scorer("gpt2")
    following = ["n't", "see", "sleep", ".", ",", "'s", "zebra"]
    assert contract.sum_of_probabilities(made, ["they", "do"], following) <= 1.0
    found = made.word_log_probs([["they", "do", "n't"], ["they", "do", "see"]])
    assert all((one <= 0).all() for one in found)
    pairs = itertools.pairwise(found)
    assert all(one[:2].tolist() == pytest.approx(other[:2].tolist()) for one, other in pairs)


# ----------------------------------------------------------------------------
# Contexts are read as trees where this gives the same numbers, and in batches elsewhere.


SIZE = 12
# Letters, a blank in two tokens, and the end.
VOCABULARY = TokenBytes(
    [b"a", b"b", b"ab", b" ", b" a", b".", b"c", b"ca", b"cab", b"d", None, None]
)
END = 10

SEQUENCES = [(0, 1, 2), (0, 1, 3, 4, 5), (0, 1, 3, 4, 6, 7, 8, 9, 0, 1, 2, 3), (6,) * 30, (7, 8)]


def _asked() -> tuple[Contexts, list[int]]:
    contexts = Contexts(TokenSets(VOCABULARY, "auto", END))
    numbers = []
    for tokens in SEQUENCES:
        for context in contexts.path(tokens):
            numbers += [contexts.ask(context, VOCABULARY.beginning_with(b"ca"))]
            numbers += [
                contexts.ask(context, ENDING),
                contexts.ask(context, contexts.token_sets.end),
            ]
    return contexts, numbers


def _expected(network: Any, contexts: Contexts, begin: int | None, windows: Windows) -> list[float]:
    found = []
    for context, (first, last) in zip(contexts.askers, contexts.sets, strict=True):
        tokens = contexts.sequence(context)[windows.begin(contexts.depths[context]) :]
        tokens = tokens if begin is None else [begin, *tokens]
        ending = [3, 4, 5, END]
        members = ending if (first, last) == ENDING else contexts.token_sets.tokens[first:last]
        if not tokens:
            found.append(np.nan)
            continue
        with torch.inference_mode():
            logits = network(input_ids=torch.tensor([tokens])).logits[0, -1]
        found.append(float(logits.softmax(0)[list(members)].sum().log()))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 512])
@pytest.mark.parametrize("begin", [11, None])
@pytest.mark.parametrize("kind", ["gpt2", "llama", "gemma", "bloom"])
def test_sums_equal_those_of_single_contexts(kind: str, begin: int | None, size: int) -> None:
    network = tiny_models.model(kind, SIZE)
    contexts, _ = _asked()
    scores = ContextScores(network, begin=begin, windows=Windows(None), size=size)
    found = scores.sums(contexts, lambda _: None)
    expected = _expected(network, contexts, begin, Windows(None))
    # Bloom computes attention in single precision.
    atol = 1e-5 if kind == "bloom" else 1e-9
    np.testing.assert_allclose(found, expected, rtol=0, atol=atol)


def _scores(kind: str) -> ContextScores:
    network = tiny_models.model(kind, SIZE)
    return ContextScores(network, begin=11, windows=Windows(None), size=40)


def test_trees_are_read_as_such_where_the_model_can() -> None:
    """Sliding windows limit the length of trees; Bloom knows no positions."""
    assert _scores("gpt2").reads_trees(100) and _scores("llama").reads_trees(100)
    assert _scores("gemma").reads_trees(8) and not _scores("gemma").reads_trees(9)
    assert not _scores("bloom").reads_trees(4)


def test_a_window_that_no_setting_mentions_is_found() -> None:
    network = tiny_models.model("gemma", SIZE, window=20)
    scores = ContextScores(network, begin=11, windows=Windows(None), size=512)
    scores._deepest = 1 << 30
    assert scores.reads_trees(16) and not scores.reads_trees(25)
    found = scores.sums(contexts := _asked()[0], lambda _: None)
    expected = _expected(network, contexts, 11, Windows(None))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("begin", [11, None])
def test_long_contexts_are_read_in_windows(begin: int | None) -> None:
    windows = Windows(9 if begin is not None else 10)
    network = tiny_models.model("gpt2", SIZE, positions=10)
    contexts, _ = _asked()
    scores = ContextScores(network, begin=begin, windows=windows, size=64)
    found = scores.sums(contexts, lambda _: None)
    expected = _expected(network, contexts, begin, windows)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("most", [2, 3, 9, 10, 100])
def test_windows_contain_at_least_half_of_what_fits(most: int) -> None:
    windows = Windows(most)
    for depth in range(500):
        read = depth - windows.begin(depth)
        assert read <= most
        assert read == depth if depth <= most else 2 * read >= most
        # Few windows: they begin at the same places.
        assert windows.begin(depth) % max(most // 2, 1) == 0
    assert Windows(None).begin(10**6) == 0


def test_models_that_read_what_follows_are_refused() -> None:
    for kind in ("gpt2", "llama", "gemma", "bloom"):
        require_causal(tiny_models.model(kind, SIZE))
    with pytest.raises(GardenpathError, match="use model=masked"):
        require_causal(tiny_models.model("bert", SIZE))


def test_half_precision_is_close() -> None:
    contexts, _ = _asked()
    network = tiny_models.model("llama", SIZE)
    exact = ContextScores(network, begin=11, windows=Windows(None), size=64)
    expected = exact.sums(contexts, lambda _: None)
    rough = tiny_models.model("llama", SIZE).to(torch.bfloat16)
    scores = ContextScores(rough, begin=11, windows=Windows(None), size=64)
    found = scores.sums(contexts, lambda _: None)
    assert np.abs(found - expected).mean() < 0.15
    assert np.isfinite(found).all()
