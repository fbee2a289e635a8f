"""Rows that are only ever appended."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from gardenpath.data.trees.legality import (
    KINDS,
    LEGAL_BIT,
    NO_ACTION_YET,
    REDUCE_ENDS_AT,
    Column,
    Kind,
    Strategy,
    legal_table,
)
from gardenpath.data.words.vocabulary import BEGIN_ID, PAD_ID
from gardenpath.eval.search.settings import Unbiased, WordSync
from gardenpath.models import search_states as lazy_words
from gardenpath.models.output import NextToken
from gardenpath.models.search_states import (
    START_STATE,
    STATES_PER_KIND,
    Arena,
    ColumnBias,
    FactoredWords,
    LazyWords,
    SearchedModel,
    continuations,
    ends_by_reduce,
    is_illegal,
    legal_state,
    piece_bias,
    searched_words,
    state_bits,
)
from tests.eval.search.toy_model import ToyModel, random_model, search
from tests.models.test_output import expected_log_probs, make_layer, make_rows
from tests.tree_samples import STRATEGIES

FLOATS = {"vector": 3, "single": 1}
NUMBERS = {"number": 1, "pair": 2}


def make_arena() -> Arena:
    return Arena(floats=FLOATS, numbers=NUMBERS, dtype=torch.float64, device=torch.device("cpu"))


def contents(numbers: list[int]) -> tuple[Tensor, Tensor]:
    """Rows whose contents tell them apart."""
    number = torch.tensor(numbers, dtype=torch.long).unsqueeze(1)
    return number.double().expand(-1, 4) / 7, number * torch.tensor([1, 2, 3])


def append(arena: Arena, numbers: list[int]) -> list[int]:
    for place, values in zip(arena.room(len(numbers)), contents(numbers), strict=True):
        place.copy_(values)
    return arena.append(len(numbers)).tolist()


def require_contents(arena: Arena, numbers: list[int]) -> None:
    assert len(arena) == len(numbers)
    floats, integers = contents(numbers)
    assert torch.equal(arena.floats[: len(arena)], floats)
    assert torch.equal(arena.numbers[: len(arena)], integers)


@given(
    st.lists(
        st.one_of(
            st.integers(0, 700).map(lambda count: ("append", count)),
            st.integers(1, 4).map(lambda step: ("keep", step)),
        ),
        max_size=12,
    ),
)
def test_rows_stay_as_they_were_however_it_grows_and_shrinks(
    changes: list[tuple[str, int]],
) -> None:
    arena, expected, made = make_arena(), list[int](), 0
    for kind, number in changes:
        if kind == "append":
            added = list(range(made, made + number))
            assert append(arena, added) == list(range(len(expected), len(expected) + number))
            expected += added
            made += number
        else:
            kept = list(range(len(expected)))[::number][::-1]
            arena.keep(torch.tensor(kept, dtype=torch.long))
            expected = [expected[place] for place in kept]
        require_contents(arena, expected)


def test_it_grows_far_beyond_its_first_size() -> None:
    arena = make_arena()
    append(arena, list(range(10)))
    append(arena, list(range(10, 5000)))
    require_contents(arena, list(range(5000)))


def test_columns_are_views_side_by_side() -> None:
    arena = make_arena()
    append(arena, [1, 2])
    assert arena["vector"].shape == (2, 3) and arena["single"].shape == (2, 1)
    assert arena["number"].tolist() == [1, 2]
    assert arena["pair"].tolist() == [[2, 3], [4, 6]]
    assert arena.columns(arena.numbers, "number", "pair").shape == (2, 3)
    arena["number"][1:] = 9
    append(arena, [4])
    assert arena["number"].tolist() == [1, 9, 4]


def test_rows_can_be_kept_twice_and_none_at_all() -> None:
    arena = make_arena()
    append(arena, [5, 6, 7])
    arena.keep(torch.tensor([2, 2, 0]))
    require_contents(arena, [7, 7, 5])
    arena.keep(torch.zeros(3000, dtype=torch.long))
    require_contents(arena, [7] * 3000)
    arena.keep(torch.tensor([], dtype=torch.long))
    require_contents(arena, [])
    append(arena, [3])
    arena.clear()
    require_contents(arena, [])


def test_memory_is_used_again() -> None:
    arena = make_arena()
    append(arena, list(range(3000)))
    address = arena["vector"].data_ptr()
    for _ in range(5):
        arena.keep(torch.arange(10))
        append(arena, list(range(10, 3000)))
        assert arena["vector"].data_ptr() == address
    require_contents(arena, list(range(3000)))


def test_the_last_column_can_be_widened() -> None:
    arena = make_arena()
    append(arena, [1, 2])
    arena.widen("pair", 4)
    assert arena["pair"][:2].tolist() == [[2, 3, 0, 0], [4, 6, 0, 0]]
    _, numbers = arena.room(1)
    numbers.copy_(torch.arange(5))
    arena.append(1)
    assert arena["pair"][2].tolist() == [1, 2, 3, 4]
    assert arena["number"][:3].tolist() == [1, 2, 0]


def test_the_memory_of_a_row() -> None:
    assert make_arena().row_bytes == 4 * 8 + 3 * 8


# ----------------------------------------------------------------------------
# The words of a factored output layer, as a search asks for them.


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


# ----------------------------------------------------------------------------
# Probabilities of words, and bounds of them.


SIZE, HIDDEN = 40, 6


def make_output(*, bias: bool = True) -> NextToken:
    torch.manual_seed(0)
    output = NextToken(hidden=HIDDEN, vocabulary_size=SIZE, bias=bias).double()
    for weight in output.parameters():
        torch.nn.init.normal_(weight, std=1.5)
    return output


def make_rows_lazy_words(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    random = torch.Generator().manual_seed(1)
    states = torch.randn(count, HIDDEN, dtype=torch.float64, generator=random)
    words = torch.randint(BEGIN_ID + 1, SIZE, (count,), generator=random)
    return states, words


@pytest.mark.parametrize("bias", [True, False])
def test_probabilities_are_those_of_the_output_layer(bias: bool) -> None:
    output = make_output(bias=bias)
    states, words = make_rows_lazy_words(30)
    expected = output.logits(states).log_softmax(1).gather(1, words.unsqueeze(1)).squeeze(1)
    torch.testing.assert_close(LazyWords(output).log_prob(states, words), expected.detach())


def test_large_jobs_are_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    states, words = make_rows_lazy_words(30)
    whole = LazyWords(make_output()).log_prob(states, words)
    monkeypatch.setattr(lazy_words, "MOST_LOGITS", 4 * SIZE + 1)
    torch.testing.assert_close(LazyWords(make_output()).log_prob(states, words), whole)
    assert LazyWords(make_output()).log_prob(states[:0], words[:0]).shape == (0,)


def test_words_that_never_come_have_no_probability() -> None:
    states, _ = make_rows_lazy_words(2)
    layer = LazyWords(make_output())
    found = layer.log_prob(states, torch.tensor([PAD_ID, BEGIN_ID]))
    assert found.tolist() == [-torch.inf, -torch.inf]
    assert layer.bound(states, torch.tensor([PAD_ID, BEGIN_ID])).tolist() == [-torch.inf] * 2


@pytest.mark.parametrize("likely", [1, 5, 20, 1000])
def test_bounds_are_above_and_as_close_as_the_likely_words_allow(
    likely: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lazy_words, "_LIKELY", likely)
    states, words = make_rows_lazy_words(200)
    layer = LazyWords(make_output())
    exact = layer.log_prob(states, words)
    bound = layer.bound(states, words)
    assert (bound >= exact - 1e-9).all()
    assert (bound <= 1e-9).all()
    if likely >= SIZE:
        torch.testing.assert_close(bound, exact, rtol=0, atol=1e-9)


def test_bounds_hold_for_rows_not_seen_before() -> None:
    states, words = make_rows_lazy_words(400)
    layer = LazyWords(make_output())
    layer.log_prob(states[:3], words[:3])
    bound = layer.bound(states[3:], words[3:])
    assert (bound >= layer.log_prob(states[3:], words[3:]) - 1e-9).all()


def make_pieces() -> tuple[NextToken, torch.Tensor]:
    """An output layer over pieces: the last third continues a word."""
    bias = piece_bias(np.arange(SIZE) >= 2 * SIZE // 3)
    assert bias is not None
    return make_output(), bias.double()


@pytest.mark.parametrize("likely", [1, 5, 20, 1000])
def test_pieces_that_may_not_come_have_no_probability(
    likely: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lazy_words, "_LIKELY", likely)
    monkeypatch.setattr(lazy_words, "MOST_LOGITS", 7 * SIZE + 1)
    output, bias = make_pieces()
    states, words = make_rows_lazy_words(200)
    row = torch.arange(200) % 4
    layer = LazyWords(output, bias)
    found = layer.log_prob(states, words, row)
    bound = layer.bound(states, words, row)
    begins = layer.begins_log_prob(states, row)
    assert not bound.isnan().any()
    assert (bound >= found - 1e-9).all() and (bound <= 1e-9).all()
    for number in range(200):
        # Rows: nothing or only the beginning of a word may come, a continuation, both.
        may_come = (range(26), range(26), range(26, SIZE), range(SIZE))[int(row[number])]
        allowed = [word for word in may_come if word > BEGIN_ID]
        scores = output.logits(states[number]).detach()[allowed].log_softmax(0)
        word = int(words[number])
        expected = float(scores[allowed.index(word)]) if word in allowed else -torch.inf
        assert float(found[number]) == pytest.approx(expected, abs=1e-9)
        first = [place for place, word in enumerate(allowed) if word < 26]
        total = float(scores[first].logsumexp(0)) if first else -torch.inf
        assert float(begins[number]) == pytest.approx(total, abs=1e-9)


def test_continuations_are_read_from_the_bias() -> None:
    _, bias = make_pieces()
    found = continuations(bias)
    assert found is not None
    assert found.tolist() == [False] * 26 + [True] * 14
    assert piece_bias(None) is None and continuations(None) is None


# ----------------------------------------------------------------------------
# The table of legal actions on a device against the table itself.


CPU = torch.device("cpu")


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("has_pieces", [False, True])
def test_states_are_rows_of_the_table(strategy: Strategy, has_pieces: bool) -> None:
    bits = state_bits(strategy, CPU, has_pieces=has_pieces).tolist()
    last = ends_by_reduce(strategy, CPU).tolist()
    table = legal_table(strategy, has_pieces=has_pieces)
    assert bits[START_STATE] == table[NO_ACTION_YET, 0]
    for kind in Kind:
        for opened in range(STATES_PER_KIND):
            state = legal_state(kind) + opened
            assert bits[state] == table[kind, min(opened, 2)]
            assert last[state] == (min(opened, 2) == REDUCE_ENDS_AT[strategy])


def test_kinds_that_are_not_among_the_bits_are_illegal() -> None:
    bits = torch.tensor([LEGAL_BIT[Kind.OPEN] | LEGAL_BIT[Kind.SHIFT], LEGAL_BIT[Kind.REDUCE], 0])
    assert is_illegal(bits, Kind.SHIFT).tolist() == [False, True, True]
    assert is_illegal(bits, Kind.REDUCE).tolist() == [True, False, True]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("has_pieces", [False, True])
def test_columns_are_open_where_their_kind_is_legal(strategy: Strategy, has_pieces: bool) -> None:
    bits = state_bits(strategy, CPU, has_pieces=has_pieces).tolist()
    last = ends_by_reduce(strategy, CPU).tolist()
    bias = ColumnBias(strategy, 2, CPU, has_pieces=has_pieces)
    has_finish = Kind.FINISH in KINDS[strategy]
    for state, (legal, ends) in enumerate(zip(bits, last, strict=True)):
        expected = dict.fromkeys(range(Column.FIRST_OPEN + 2), bool(legal & LEGAL_BIT[Kind.OPEN]))
        expected[Column.WORD] = bool(legal & LEGAL_BIT[Kind.SHIFT])
        closes = bool(legal & LEGAL_BIT[Kind.REDUCE])
        expected[Column.CLOSE] = closes and not ends
        finishes = bool(legal & LEGAL_BIT[Kind.FINISH])
        expected[Column.END] = finishes if has_finish else closes and ends
        assert [b == 0 for b in bias.legal[state].tolist()] == list(expected.values())
        possible = [True] * len(expected)
        if not has_finish:
            possible[Column.CLOSE], possible[Column.END] = not ends, ends
        assert [b == 0 for b in bias.possible[state].tolist()] == possible


# ----------------------------------------------------------------------------
# The methods that a family need not write, against those of a model that has all of them.


class Tabled(SearchedModel):
    """The tables of a toy model, with the defaults for everything but the five methods."""

    def __init__(self, toy: ToyModel) -> None:
        arena = Arena(
            floats={}, numbers={"state": 1, "open": 1, "word": 1}, dtype=torch.float64, device=CPU
        )
        super().__init__(arena, "top_down", toy.label_count, toy.is_continuation)
        self.opens_at_end = toy.opens_at_end
        self._toy = toy

    def begin(self) -> None:
        self.arena.clear()
        self.arena.write(1, state=0, open=0, word=0)

    def _as_toy(self, nodes: Tensor) -> Tensor:
        toy = self._toy
        toy._state, toy._depth = self.arena["state"][nodes], self.arena["open"][nodes]
        toy._has_word = self.arena["word"][nodes].bool()
        return torch.arange(len(nodes))

    def log_probs(self, nodes: Tensor) -> Tensor:
        return self._toy.log_probs(self._as_toy(nodes))

    def word_log_prob(self, nodes: Tensor, words: Tensor) -> Tensor:
        return self._toy.word_log_prob(self._as_toy(nodes), words)

    def advance(self, nodes: Tensor, columns: Tensor) -> Tensor:
        change = self.changes[columns, 0].masked_fill(columns == Column.END, 0)
        opened = (self.arena["open"][nodes] + change).clamp(min=0)
        state = self._toy._after_column[self.arena["state"][nodes], columns]
        return self.arena.write(len(nodes), state=state, open=opened, word=0)

    def shift(self, nodes: Tensor, words: Tensor) -> Tensor:
        state = self._toy._after_word[self.arena["state"][nodes], words]
        return self.arena.write(len(nodes), state=state, open=self.arena["open"][nodes], word=1)


@pytest.mark.parametrize("pieces", [(), (1, 2)])
@pytest.mark.parametrize("is_packed", [True, False])
@pytest.mark.parametrize("kind", [WordSync, Unbiased])
def test_the_defaults_are_right(
    kind: type[WordSync | Unbiased], is_packed: bool, pieces: tuple[int, ...]
) -> None:
    settings = kind(action_beam=6, word_beam=4, max_open=5, max_consecutive=3)
    sentences = [[0, 1, 0, 2], [0, 1], [0, 0, 2, 2], [0, 1, 1]]
    found, expected = (
        search(model, sentences, settings, is_packed=is_packed, finds_word_ends=bool(pieces))
        for model in (
            Tabled(random_model(3, continuations=pieces)),
            random_model(3, continuations=pieces),
        )
    )
    for result, known in zip(found, expected, strict=True):
        np.testing.assert_allclose(result.prefix_log_probs, known.prefix_log_probs, atol=1e-12)
        np.testing.assert_allclose(result.word_end_log_probs, known.word_end_log_probs, atol=1e-10)


def test_only_what_survives_is_kept() -> None:
    model = Tabled(random_model(3))
    search(model, [[0] * 12], WordSync(action_beam=6, word_beam=4, max_open=5, max_consecutive=3))
    model.begin()
    nodes = model.shift(torch.zeros(6, dtype=torch.long), torch.tensor([0, 1, 2, 0, 1, 2]))
    states = model.arena["state"][nodes].tolist()
    is_alive = torch.tensor([[True, True, True], [True, False, True]])
    settled = model.settle(nodes[[0, 0, 2, 5, 4, 3]].view(2, 3), is_alive)
    assert len(model.arena) == 5 and settled[0, 0] == settled[0, 1] and settled[1, 1] == 0
    kept = [model.arena["state"][settled].tolist(), [[0, 0, 2], [5, -1, 3]]]
    assert kept[0] == [[states[n] if n >= 0 else 0 for n in row] for row in kept[1]]
