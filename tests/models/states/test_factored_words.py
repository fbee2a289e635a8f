"""The words of a factored output layer, as a search asks for them."""

from __future__ import annotations

import torch

from gardenpath.models.output import NextToken
from gardenpath.models.search_states import FactoredWords, LazyWords, searched_words
from tests.models.factored.test_factored_output import (
    expected_log_probs,
    make_layer,
    make_rows,
)


def test_probabilities_and_bounds_are_exact() -> None:
    layer = make_layer()
    states, words = make_rows(70)
    expected = expected_log_probs(layer, states).gather(1, words.unsqueeze(1)).squeeze(1)
    searched = searched_words(layer, None)
    torch.testing.assert_close(searched.log_prob(states, words), expected)
    torch.testing.assert_close(searched.bound(states, words), expected)
    row = torch.zeros_like(words)
    assert searched.begins_log_prob(states, row).tolist() == [0.0] * 70


def test_the_layer_decides() -> None:
    assert isinstance(searched_words(make_layer(), None), FactoredWords)
    full = NextToken(hidden=3, vocabulary_size=9)
    assert isinstance(searched_words(full, None), LazyWords)
