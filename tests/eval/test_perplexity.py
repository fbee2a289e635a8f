"""Tables of models beside the exact answer."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from gardenpath.data.arrays import Floats
from gardenpath.eval.display import EXACT
from gardenpath.eval.perplexity import (
    ModelPerplexity,
    Perplexity,
    as_table,
    compare,
    error_notes,
    estimate_errors,
    measure,
    perplexity_frame,
)
from gardenpath.eval.search.replicates import pooled, standard_error
from gardenpath.store.tables import PERPLEXITY, read_table, write_table
from gardenpath.util import NATS_PER_BIT, Words


def _perplexity(bits_per_word: float) -> Perplexity:
    """Three words and one end, equally surprising."""
    nats = bits_per_word * math.log(2)
    return Perplexity(sentences=1, words=3, word_nats=3 * nats, end_nats=nats)


MODELS = [
    ModelPerplexity(model="ngram", seed=1, result=_perplexity(5.0)),
    ModelPerplexity(model="lstm", seed=2, result=_perplexity(4.5)),
]


def test_excess_is_over_the_exact_grammar_in_bits_per_word() -> None:
    rows = compare("toy", MODELS, {1: _perplexity(4.0)})
    assert [row.model for row in rows] == ["ngram", "lstm", EXACT]
    assert [row.seed for row in rows] == [1, 2, None]
    assert [row.excess_bits_per_word for row in rows] == pytest.approx([1.0, 0.5, 0.0])
    assert [row.perplexity for row in rows] == pytest.approx([32.0, 2**4.5, 16.0])
    assert [row.bits_per_sentence for row in rows] == pytest.approx([20.0, 18.0, 16.0])


def test_without_a_grammar_there_is_no_excess() -> None:
    rows = compare("ptb", MODELS, None)
    assert [row.model for row in rows] == ["ngram", "lstm"]
    assert [row.excess_bits_per_word for row in rows] == [None, None]


def test_the_table_reads_back(tmp_path: Path) -> None:
    rows = compare("toy", MODELS, {1: _perplexity(4.0)})
    frame = perplexity_frame(rows)
    assert tuple(frame.columns) == PERPLEXITY.names
    write_table(tmp_path / PERPLEXITY.file, frame)
    lines = (tmp_path / PERPLEXITY.file).read_text(encoding="utf-8").splitlines()
    # Floats as Python writes them, and nothing for what is missing.
    first = rows[0]
    numbers = (first.perplexity, first.perplexity_without_end, first.bits_per_sentence)
    assert lines[1] == ",".join(map(str, ("toy", "ngram", 1, 1, 3, *numbers, 1.0))) + ",,,,"
    assert lines[3].startswith(f"toy,{EXACT},,1,3,")
    assert read_table(tmp_path / PERPLEXITY.file, PERPLEXITY).equals(frame)


def test_table_shows_every_model_and_the_caption() -> None:
    console = Console(width=100)
    with console.capture() as captured:
        table = as_table(compare("toy", MODELS, {1: _perplexity(4.0)}), title="T", caption="C")
        console.print(table)
    text = captured.get()
    for part in ("ngram", "lstm", EXACT, "32.00", "16.00", "1.000", "0.000", "T", "C"):
        assert part in text


def test_headings_are_whole_on_80_columns() -> None:
    console = Console(width=80)
    marginal = ModelPerplexity(model="rnng (marginal)", seed=1, result=_perplexity(9.0))
    with console.capture() as captured:
        console.print(as_table(compare("toy", [marginal], None), title="T"))
    lines = captured.get().splitlines()
    assert "…" not in captured.get() and max(map(len, lines)) <= 80
    assert (
        "sentences" in lines[4]
        and "perplexity" in lines[4]
        and lines[4].rstrip().endswith("word ┃")
    )


def _estimated() -> list[ModelPerplexity]:
    """A model without a search, and one whose perplexity is estimated."""
    estimate = replace(_perplexity(9.0), error_nats=0.25, bias_nats=0.03125)
    marginal = ModelPerplexity(model="rnng (marginal)", seed=1, result=estimate, search="beam, 5")
    return [MODELS[0], marginal]


def test_errors_and_searches_read_back(tmp_path: Path) -> None:
    """They are columns only if some model has them."""
    frame = perplexity_frame(compare("toy", _estimated(), None))
    assert tuple(frame.columns) == (*PERPLEXITY.names, *(one.name for one in PERPLEXITY.optional))
    write_table(tmp_path / PERPLEXITY.file, frame)
    assert read_table(tmp_path / PERPLEXITY.file, PERPLEXITY).equals(frame)
    row = frame.set_index("model").loc["rnng (marginal)"]
    assert (row["search"], row["perplexity_se"]) == ("beam, 5", pytest.approx(512 * 0.25 / 4))
    assert row["bits_per_word_se"] == pytest.approx(0.0625 / math.log(2))
    assert row["bias_bits_per_word"] == pytest.approx(0.0078125 / math.log(2))


def test_errors_are_shown_and_explained() -> None:
    console = Console(width=80)
    with console.capture() as captured:
        console.print(as_table(compare("toy", _estimated(), None), title="T"))
    lines = captured.get().splitlines()
    assert "…" not in captured.get() and max(map(len, lines)) <= 80
    assert "32.00" in next(line for line in lines if "rnng (marginal)" in line)
    assert error_notes(MODELS) == []
    assert "too large by: rnng (marginal) +0.0113" in " ".join(error_notes(_estimated()))


def test_a_model_is_compared_with_the_exact_answer_to_the_same_sentences() -> None:
    nats = 3.0 * math.log(2)
    fewer = Perplexity(sentences=2, words=6, word_nats=6 * nats, end_nats=2 * nats)
    failed = Perplexity(sentences=1, words=3, word_nats=1.0, end_nats=1.0, failed=1)
    exact = {1: _perplexity(4.0), 2: fewer}
    rnng = ModelPerplexity(model="rnng", seed=1, result=fewer)
    plm = ModelPerplexity(model="plm", seed=1, result=failed)
    rows = compare("toy", [*MODELS, rnng, plm], exact)
    found = {row.model: row.excess_bits_per_word for row in rows}
    assert found == pytest.approx({"rnng": 0.0, "ngram": 1.0, "lstm": 0.5, "plm": None, EXACT: 0.0})
    # The exact grammar is beside each set of sentences.
    assert [row.model for row in rows] == ["rnng", EXACT, "ngram", "lstm", "plm", EXACT]
    assert [row.sentences for row in rows] == [2, 2, 1, 1, 1, 1]


def test_models_are_ranked_among_those_with_the_same_sentences_only() -> None:
    """The table has a line between rows that are not comparable."""
    few = ModelPerplexity(model="few", seed=1, result=_perplexity(9.0))
    nats = 2.0 * math.log(2)
    many = [
        ModelPerplexity(
            model=name, seed=1, result=Perplexity(sentences=2, words=6, word_nats=6 * n, end_nats=n)
        )
        for name, n in (("better", nats), ("worse", 2 * nats))
    ]
    rows = compare("c", [few, *many], None)
    assert [row.model for row in rows] == ["worse", "better", "few"]
    table = as_table(rows, title="T")
    assert [row.end_section for row in table.rows] == [False, True, False]


def test_joint_and_marginal_perplexities_are_ranked_apart() -> None:
    """The joint one would be in the middle of the others, on the same sentences."""
    models = [
        ModelPerplexity(model=name, seed=1, result=_perplexity(bits))
        for name, bits in (("rnng (marginal)", 6.0), ("rnng (joint)", 5.5), ("lstm", 5.0))
    ]
    rows = compare("c", models, {1: _perplexity(4.0)})
    assert [row.model for row in rows] == ["rnng (joint)", "rnng (marginal)", "lstm", EXACT]
    assert [row.end_section for row in as_table(rows, title="T").rows] == [
        True,
        False,
        False,
        False,
    ]


def test_a_table_of_models_from_elsewhere_names_their_corpora() -> None:
    measured = ModelPerplexity(
        model="lstm", seed=1, result=_perplexity(3.0), trained_on="xinhua", vocabulary=88_000,
        unknown_rate=0.125, shared_perplexity=42.5,
    )  # fmt: skip
    console = Console(width=80)
    with console.capture() as captured:
        console.print(as_table(compare("ctb", [measured], None), title="T"))
    for part in ("xinhua", "12.5%", "42.50"):
        assert part in captured.get()


# ----------------------------------------------------------------------------
# Errors of the log probability of a corpus, against sums over all pairs and against samples.


REPLICATES = 8
_words = st.lists(st.sampled_from("ab"), max_size=4).map(tuple)


def _log_estimates(
    sentences: list[Words], generator: np.random.Generator, spread: float, replicates: int
) -> list[Floats]:
    """Log estimates of all prefixes; those of a common prefix are the same in all sentences."""
    factors: dict[tuple[str, ...], Floats] = {}
    found = []
    for words in sentences:
        path = (*words, "</s>")
        logs = []
        for length in range(1, len(path) + 1):
            if path[:length] not in factors:
                normal = generator.normal(size=replicates)
                # The mean of the factor is 1/2.
                factors[path[:length]] = math.log(0.5) + spread * normal - spread**2 / 2
            logs.append(factors[path[:length]])
        found.append(np.cumsum(logs, axis=0))
    return found


def _deviations(estimates: list[Floats]) -> list[Floats]:
    return [pooled(one).deviations_bits for one in estimates]


@given(st.lists(_words, min_size=1, max_size=6), st.integers(0, 2**32 - 1))
def test_the_variance_is_the_sum_over_all_pairs(sentences: list[Words], seed: int) -> None:
    generator = np.random.default_rng(seed)
    deviations = _deviations(_log_estimates(sentences, generator, 0.3, REPLICATES))
    ended = [(*words, "</s>") for words in sentences]
    expected = 0.0
    for one, other in itertools.product(range(len(sentences)), repeat=2):
        pairs = zip(ended[one], ended[other], strict=False)
        common = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
        prefix = deviations[one][:common].sum(0)
        expected += (float(standard_error(prefix)) * NATS_PER_BIT) ** 2
    found = estimate_errors(sentences, deviations)
    assert found.error_nats**2 == pytest.approx(expected, abs=1e-12)


def test_sentences_with_nothing_in_common_are_independent() -> None:
    sentences: list[Words] = [("a", "b"), ("c",), ("d", "a")]
    estimates = _log_estimates(sentences, np.random.default_rng(3), 0.2, REPLICATES)
    deviations = _deviations(estimates)
    errors = [float(standard_error(one.sum(0))) * NATS_PER_BIT for one in deviations]
    found = estimate_errors(sentences, deviations)
    assert found.error_nats == pytest.approx(math.hypot(*errors))
    assert found.bias_nats == pytest.approx(sum(error**2 for error in errors) / 2)
    twice = estimate_errors([sentences[0]] * 2, [deviations[0]] * 2)
    assert twice.error_nats == pytest.approx(2 * errors[0]), "one estimate, counted twice"
    assert twice.bias_nats == pytest.approx(errors[0] ** 2)


def test_errors_and_bias_are_those_of_repeated_estimates() -> None:
    """The same corpus, estimated many times: some sentences begin alike, and one occurs twice."""
    sentences: list[Words] = [("a", "b"), ("a", "b", "c"), ("a", "c"), ("d",), ("d",)]
    truth = -math.log(2) * sum(len(words) + 1 for words in sentences)
    generator = np.random.default_rng(11)
    totals, errors, biases = [], [], []
    for _ in range(3000):
        estimates = _log_estimates(sentences, generator, 0.25, REPLICATES)
        totals.append(sum(float(pooled(one).log_probs[-1]) for one in estimates))
        found = estimate_errors(sentences, _deviations(estimates))
        errors.append(found.error_nats)
        biases.append(found.bias_nats)
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(np.std(totals), rel=0.08)
    # Surprisals are too large on average.
    sampling = float(np.std(totals)) / math.sqrt(len(totals))
    assert truth - np.mean(totals) == pytest.approx(np.mean(biases), abs=3 * sampling)
    assert np.mean(biases) > 5 * sampling


def test_errors_of_perplexity_and_bits_are_its_derivatives() -> None:
    exact = Perplexity(sentences=2, words=6, word_nats=9.0, end_nats=3.0)
    assert exact.with_end_se is exact.bits_per_word_se is exact.bias_bits_per_word is None
    found = Perplexity(
        sentences=2, words=6, word_nats=9.0, end_nats=3.0, error_nats=0.4, bias_nats=0.08
    )
    step = 1e-6
    more = Perplexity(sentences=2, words=6, word_nats=9.0 + step, end_nats=3.0)
    assert found.with_end_se == pytest.approx(0.4 * (more.with_end - found.with_end) / step)
    assert found.bits_per_word_se == pytest.approx(0.4 / 8 / math.log(2))
    assert found.bias_bits_per_word == pytest.approx(0.01 / math.log(2))
    nothing = Perplexity(sentences=0, words=0, word_nats=0.0, end_nats=0.0, error_nats=0.0)
    assert nothing.with_end_se is None


# ----------------------------------------------------------------------------
# Perplexity from word probabilities.


class _Halves:
    """Gives each word probability 1/2 and each end 1/8."""

    def word_log_probs(self, sentences: Sequence[Sequence[str]]) -> list[Floats]:
        return [np.log(np.array([0.5] * len(words) + [0.125])) for words in sentences]


SENTENCES = [["a", "b", "c"], ["d"]]


def test_sums_are_in_nats_with_ends_apart() -> None:
    found = measure(_Halves().word_log_probs(SENTENCES), SENTENCES)
    assert (found.sentences, found.words) == (2, 4)
    assert found.word_nats == pytest.approx(4 * math.log(2))
    assert found.end_nats == pytest.approx(6 * math.log(2))


def test_perplexity_with_and_without_the_end_by_hand() -> None:
    found = measure(_Halves().word_log_probs(SENTENCES), SENTENCES)
    assert found.with_end == pytest.approx(2 ** (10 / 6))
    assert found.without_end == pytest.approx(2.0)


def test_bits_by_hand() -> None:
    found = measure(_Halves().word_log_probs(SENTENCES), SENTENCES)
    assert found.bits_per_sentence == pytest.approx(5.0)
    assert found.bits_per_word == pytest.approx(10 / 6)


def test_a_model_without_ends_has_no_perplexity_without_them() -> None:
    found = Perplexity(sentences=2, words=4, word_nats=12 * math.log(2), end_nats=None)
    assert found.without_end is None
    assert found.with_end == pytest.approx(2 ** (12 / 6))
    assert found.bits_per_sentence == pytest.approx(6.0)


def test_an_impossible_word_makes_perplexity_infinite() -> None:
    class Impossible:
        def word_log_probs(self, sentences: Sequence[Sequence[str]]) -> list[Floats]:
            return [np.array([-np.inf, -1.0]) for _ in sentences]

    assert measure(Impossible().word_log_probs([["a"]]), [["a"]]).with_end == math.inf
