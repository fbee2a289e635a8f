"""Tries as tensors."""

from __future__ import annotations

import numpy as np
from hypothesis import given

from gardenpath.models.sequential.scorer import PrefixBatch
from tests.data.test_prefixes import JOBS, one_trie, prefixes_of


@given(JOBS)
def test_the_tensors_are_the_arrays(sentences: list[list[int]]) -> None:
    trie = one_trie(sentences)
    batch = PrefixBatch.of(trie)
    for name in ("tokens", "parents", "depths", "first", "last", "contexts", "targets"):
        assert getattr(batch, name).tolist() == getattr(trie, name).tolist()
    assert batch.sizes == tuple(np.bincount(trie.depths))


@given(JOBS)
def test_ancestors_are_the_beginnings_of_a_prefix(sentences: list[list[int]]) -> None:
    trie = one_trie(sentences)
    prefixes = prefixes_of(trie)
    expected = [[row[: len(column)] == column for column in prefixes] for row in prefixes]
    assert PrefixBatch.of(trie).is_ancestor().tolist() == expected
