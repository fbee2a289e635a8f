"""Batches of tokens, sentence by sentence."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.data.batches.tokens import token_batch
from gardenpath.data.words.vocabulary import BEGIN_ID, END_ID, PAD_ID
from tests.data.batches.samples import assert_same, numbered_split, split_of


def test_token_batch() -> None:
    split = split_of([[7, 8, 9], [5], [6, 6]], starts_word=[True, False, True, True, True, False])
    batch = token_batch(split, np.array([1, 0]))
    assert batch.inputs.tolist() == [[BEGIN_ID, 5, PAD_ID, PAD_ID], [BEGIN_ID, 7, 8, 9]]
    assert batch.targets.tolist() == [[5, END_ID, PAD_ID, PAD_ID], [7, 8, 9, END_ID]]
    assert batch.is_token.tolist() == [[True, True, False, False], [True] * 4]
    assert batch.starts_word.tolist() == [[True, False, False, False], [True, False, True, False]]
    assert batch.is_end.tolist() == [[False, True, False, False], [False, False, False, True]]
    assert batch.inputs.dtype == batch.targets.dtype == torch.int64


@given(st.lists(st.lists(st.integers(4, 99), min_size=1, max_size=7), min_size=1, max_size=6))
def test_targets_are_inputs_one_step_later(sentences: list[list[int]]) -> None:
    batch = token_batch(split_of(sentences), np.arange(len(sentences)))
    width = max(map(len, sentences)) + 1
    assert batch.inputs.shape == (len(sentences), width)
    for row, sentence in enumerate(sentences):
        padding = [PAD_ID] * (width - len(sentence) - 1)
        assert batch.inputs[row].tolist() == [BEGIN_ID, *sentence, *padding]
        assert batch.targets[row].tolist() == [*sentence, END_ID, *padding]
        assert batch.is_token[row].sum() == len(sentence) + 1


def test_batch_of_one_is_the_row_of_a_batch_of_many() -> None:
    split = numbered_split(6)
    together = token_batch(split, np.arange(6))
    for number in range(6):
        alone = token_batch(split, np.array([number]))
        width = alone.inputs.shape[1]
        assert torch.equal(alone.targets[0], together.targets[number, :width])
        assert torch.equal(alone.inputs[0], together.inputs[number, :width])


def test_to_moves_every_tensor() -> None:
    batch = token_batch(numbered_split(3), np.arange(3))
    moved = batch.to("meta")
    assert {getattr(moved, field.name).device.type for field in fields(moved)} == {"meta"}
    assert {getattr(batch, field.name).device.type for field in fields(batch)} == {"cpu"}
    assert_same([batch.to(torch.device("cpu"))], [batch])
