"""Pseudo-log-likelihoods of words against one forward pass per token, written out plainly."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.adopted.families import MaskedSettings, Pll
from gardenpath.adopted.masked import MaskedScorer, word_tokens
from gardenpath.data.arrays import Floats
from gardenpath.data.words.pieces import Spacing, joined_words
from gardenpath.errors import GardenpathError
from gardenpath.models.family import OpenedModel
from tests.adopted import masked_samples

SENTENCES = [
    ["the", "king", "sings", "."],
    ["the", "kings", "sing", "."],
    ["the", "singers", "were", "kinder", ",", "and", "sang", "kindly", "."],
    ["queen"],
    ["the", "king", "hears", "Ωψ", "."],
]
PLLS: tuple[Pll, ...] = ("within_word_l2r", "original", "whole_word")


@functools.cache
def _model(name: str) -> tuple[Any, Any]:
    make_tokenizer, make_network = masked_samples.MODELS[name]
    tokenizer = make_tokenizer()
    return tokenizer, make_network(tokenizer)


def _scorer(
    name: str, *, on_words: Callable[[int], None] = lambda _: None, **options: Any
) -> MaskedScorer:
    tokenizer, network = _model(name)
    settings = MaskedSettings(spacing="blanks", **options)
    return MaskedScorer(tokenizer, lambda: network, settings, on_words=on_words)


def _oracle(name: str, words: list[str], pll: Pll) -> list[float]:
    """One forward pass for every token."""
    tokenizer, network = _model(name)
    tokens = word_tokens(tokenizer, words, "blanks")
    scores = []
    for places in tokens.positions:
        total = 0.0
        for place in places:
            masked = list(tokens.ids)
            for other in places:
                is_later = other > place and pll == "within_word_l2r"
                if other == place or is_later or pll == "whole_word":
                    masked[other] = tokenizer.mask_token_id
            with torch.inference_mode():
                logits = network(input_ids=torch.tensor([masked])).logits[0, place]
            total += float(logits.log_softmax(-1)[tokens.ids[place]])
        scores.append(total)
    return scores


def _close(found: Floats, expected: list[float] | Floats) -> bool:
    return bool(np.allclose(found, expected, rtol=0, atol=1e-10, equal_nan=True))


@pytest.mark.parametrize("pll", PLLS)
@pytest.mark.parametrize("name", masked_samples.MODELS)
def test_scores_are_those_of_one_pass_per_token(name: str, pll: Pll) -> None:
    found = _scorer(name, pll=pll).word_log_probs(SENTENCES)
    for words, scores in zip(SENTENCES, found, strict=True):
        assert _close(scores[:-1], _oracle(name, words, pll))
        assert np.isnan(scores[-1])


@pytest.mark.parametrize("name", masked_samples.MODELS)
def test_the_choices_differ_only_in_words_of_several_tokens(name: str) -> None:
    tokenizer, _ = _model(name)
    words = [*SENTENCES[2], "king", "queen"]
    several = [len(one) > 1 for one in word_tokens(tokenizer, words, "blanks").positions]
    assert any(several) and not all(several)
    within, original, whole = (
        _scorer(name, pll=pll).word_log_probs([words])[0][:-1] for pll in PLLS
    )
    for other in (original, whole):
        assert ((np.abs(within - other) > 1e-6) == several).all()


def test_the_words_of_as_many_tokens_add_up_to_one() -> None:
    """Within a word, tokens are predicted from left to right: a distribution over their sequences.

    The context has as many masks as the word has tokens, so words of other lengths are not in it.
    """
    tokenizer, network = _model("bert")
    words = ["the", "queenly", "."]
    tokens = word_tokens(tokenizer, words, "blanks")
    assert tokens.positions[1] == (2, 3)
    mask = tokenizer.mask_token_id
    masked = [*tokens.ids[:2], mask, mask, *tokens.ids[4:]]
    size = len(tokenizer)
    with torch.inference_mode():
        beginning = network(input_ids=torch.tensor([masked])).logits[0, 2].softmax(-1)
        rows = torch.tensor([masked] * size)
        rows[:, 2] = torch.arange(size)
        ending = network(input_ids=rows).logits[:, 3].softmax(-1)
    assert abs(float((beginning[:, None] * ending).sum()) - 1) < 1e-12
    expected = beginning[tokens.ids[2]] * ending[tokens.ids[2], tokens.ids[3]]
    scored = _scorer("bert").word_log_probs([words])[0][1]
    assert abs(float(expected.log()) - scored) < 1e-10


@pytest.mark.parametrize("name", masked_samples.MODELS)
@pytest.mark.parametrize("max_batch_tokens", [1, 30, 4096])
def test_order_batches_and_repetitions_do_not_matter(name: str, max_batch_tokens: int) -> None:
    scorer = _scorer(name, max_batch_tokens=max_batch_tokens)
    alone = [scorer.word_log_probs([words])[0] for words in SENTENCES]
    order = [*range(len(SENTENCES))] * 2
    random.Random(1).shuffle(order)
    together = scorer.word_log_probs([SENTENCES[number] for number in order])
    for number, scores in zip(order, together, strict=True):
        assert _close(scores, alone[number])


def test_shared_predictions_are_computed_once() -> None:
    """Two sentences that differ in one word have the prediction of this word in common."""
    tokenizer, network = _model("bert")
    rows: list[int] = []
    hook = network.register_forward_pre_hook(
        lambda _, __, given: rows.append(len(given["input_ids"])), with_kwargs=True
    )
    try:
        pair = [["the", "king", "."], ["the", "queen", "."]]
        scorer = MaskedScorer(tokenizer, lambda: network, MaskedSettings(spacing="blanks"))
        scorer.word_log_probs([*pair, *pair])
    finally:
        hook.remove()
    assert sum(rows) == 5


@pytest.mark.parametrize("name", masked_samples.MODELS)
def test_the_output_layer_computes_one_position_of_each_row(name: str) -> None:
    _, network = _model(name)
    shapes: list[tuple[int, ...]] = []
    hook = network.get_output_embeddings().register_forward_hook(
        lambda _, __, output: shapes.append(tuple(output.shape))
    )
    try:
        _scorer(name).word_log_probs(SENTENCES)
    finally:
        hook.remove()
    assert shapes and all(shape[1] == 1 for shape in shapes)


def test_a_network_without_an_output_layer_of_its_own_gives_the_same_scores(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expected = _scorer("bert").word_log_probs(SENTENCES)
    monkeypatch.setattr(_model("bert")[1], "get_output_embeddings", lambda: None)
    for scores, known in zip(_scorer("bert").word_log_probs(SENTENCES), expected, strict=True):
        assert _close(scores, known)


def test_progress_counts_every_word_once() -> None:
    seen: list[int] = []
    scorer = _scorer("roberta", on_words=seen.append, max_batch_tokens=40)
    scorer.word_log_probs(SENTENCES)
    assert sum(seen) == sum(map(len, SENTENCES)) and len(seen) > 3


def test_a_sentence_with_a_token_of_two_words_is_refused_or_incomplete() -> None:
    tokenizer, network = _model("roberta")
    words = ["国王", "看见", "了", "。"]
    scorer = MaskedScorer(tokenizer, lambda: network, MaskedSettings(spacing="none"))
    with pytest.raises(GardenpathError, match=r"见了.*unscorable=missing"):
        scorer.word_log_probs([words])
    seen: list[int] = []
    lenient = MaskedScorer(
        tokenizer,
        lambda: network,
        MaskedSettings(spacing="none", unscorable="missing"),
        on_words=seen.append,
    )
    (scores,) = lenient.word_log_probs([words])
    assert np.isnan(scores).tolist() == [False, True, True, False, True] and sum(seen) == 4


@pytest.mark.parametrize(("name", "limit"), [("bert", 40), ("roberta", 38)])
def test_sentences_fit_into_the_positions_of_the_model(name: str, limit: int) -> None:
    tokenizer, _ = _model(name)
    word = "the"
    longest = [word] * (limit - 2)
    assert len(word_tokens(tokenizer, longest, "blanks").ids) == limit
    (scores,) = _scorer(name).word_log_probs([longest])
    assert np.isfinite(scores[:-1]).all()
    with pytest.raises(GardenpathError, match=f"{limit + 1} tokens .* at most {limit}"):
        _scorer(name).word_log_probs([[*longest, word]])


def test_an_empty_sentence_has_no_scores() -> None:
    assert [one.tolist() for one in _scorer("bert").word_log_probs([])] == []
    (scores,) = _scorer("bert").word_log_probs([[]])
    assert len(scores) == 1 and np.isnan(scores[0])


def test_unknown_words_are_named() -> None:
    model: OpenedModel = _scorer("bert")
    assert model.knows("kings") and not model.knows("Ωψ")
    assert model.seen_as(["Kings", "older", "Ωψ"]) == ["kings", "old ##er", "<unk>"]
    assert _scorer("roberta").knows("Ωψ")


# ----------------------------------------------------------------------------
# Tokens and words: every token belongs to the word that contains its characters.


BERT, ROBERTA, XLM = (
    masked_samples.wordpiece(), masked_samples.byte_level(), masked_samples.sentencepiece(),
)  # fmt: skip

WORDS = st.lists(
    st.sampled_from(["the", "kings", "singing", ".", "国王", "我们", "的", "歌", "Ωé", "i'm"]),
    min_size=1, max_size=7,
)  # fmt: skip


def _pieces(tokenizer: Any, words: list[str], spacing: Spacing) -> list[list[str]]:
    found = word_tokens(tokenizer, words, spacing)
    names = tokenizer.convert_ids_to_tokens(list(found.ids))
    return [[names[place] for place in places] for places in found.positions]


def test_pieces_of_words() -> None:
    words = ["the", "kings", "Ωψ", "."]
    assert _pieces(BERT, words, "blanks") == [["the"], ["kings"], ["[UNK]"], ["."]]
    assert _pieces(ROBERTA, ["the", "kings", "."], "blanks") == [["the"], ["Ġkings"], ["Ġ."]]
    # A mark of the beginning of a word belongs to the word that follows.
    assert _pieces(XLM, ["king", "."], "blanks") == [["▁king"], ["▁", "."]]


def test_bytes_of_one_character_belong_to_its_word() -> None:
    assert _pieces(ROBERTA, ["a", "Ω", "b"], "blanks") == [["a"], ["Ġ", "Î", "©"], ["Ġ", "b"]]


def test_characters_of_chinese_words() -> None:
    found = word_tokens(BERT, ["国王", "看见", "了"], "none")
    assert found.positions == ((1, 2), (3, 4), (5,))


def test_a_token_of_two_words_is_named() -> None:
    found = word_tokens(XLM, ["国王", "听", "我们", "的", "歌"], "none")
    assert dict.fromkeys([2, 3], "the token '我们的' belongs to several words") == found.problems
    # At the beginning of a text, the token that marks it is the first of the word.
    assert _pieces(XLM, ["国王", "听"], "none") == [["▁", "国王"], ["听"]]
    found = word_tokens(ROBERTA, ["国王", "看见", "了", "。"], "none")
    assert sorted(found.problems) == [1, 2]
    assert "'见了' belongs to several words" in found.problems[1]


def test_a_word_that_the_tokeniser_drops_is_named() -> None:
    found = word_tokens(BERT, ["the", "\u200b", "king"], "blanks")
    assert dict(found.problems) == {1: "the tokeniser drops '\\u200b'"}


def test_words_that_look_like_special_tokens_are_text() -> None:
    for tokenizer in (BERT, ROBERTA):
        words = ["the", tokenizer.mask_token, tokenizer.sep_token]
        ids = list(word_tokens(tokenizer, words, "blanks").ids)
        assert tokenizer.mask_token_id not in ids
        assert ids.count(tokenizer.sep_token_id) == ids.count(tokenizer.cls_token_id) == 1


def test_words_that_are_special_tokens_all_the_same_are_refused() -> None:
    with pytest.raises(GardenpathError, match=r"'the \[MASK\]'.*is a special token"):
        word_tokens(XLM, ["the", "[MASK]"], "blanks")


@pytest.mark.parametrize("tokenizer", [BERT, ROBERTA, XLM], ids=["bert", "roberta", "xlm"])
@given(words=WORDS, spacing=st.sampled_from(["auto", "blanks", "none"]))
def test_every_token_between_the_special_ones_belongs_to_a_word(
    tokenizer: Any, words: list[str], spacing: Spacing
) -> None:
    found = word_tokens(tokenizer, words, spacing)
    assert sorted({place for places in found.positions for place in places}) == list(
        range(1, len(found.ids) - 1)
    )
    own = [place for n, places in enumerate(found.positions) for place in places
           if n not in found.problems]  # fmt: skip
    assert own == sorted(set(own))
    text = joined_words(words, spacing).text
    assert list(found.ids) == tokenizer(text)["input_ids"]
