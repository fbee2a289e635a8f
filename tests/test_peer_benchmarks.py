"""The comparison with published code: same weights, same probabilities, and its tables."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from benchmarks import peer
from benchmarks.error_rows import Row
from benchmarks.peer_beams import Beams, parse_beams
from benchmarks.published_plm import HuggingFacePlm, PublishedPlm, Symbols
from benchmarks.rnng_pytorch import RnngPytorch, aligned, never_next, peer_weights
from gardenpath.data.trees.tree import Open, Word, parse_tree
from gardenpath.data.words.vocabulary import BEGIN_ID
from gardenpath.errors import GardenpathError
from gardenpath.models.syntactic.networks import PlmNetwork, RnngNetwork
from tests.integration.searching import make_network, tiny_vocabulary
from tests.models.stepwise_rnng import StepwiseRnng
from tests.models.syntactic.test_rnng import make_network as make_rnng
from tests.peer_checkouts import (
    FIRST_OPEN,
    REDUCE,
    SHIFT,
    Actions,
    FakeBeam,
    PlainRnng,
    Renormalising,
    write_plm,
    write_rnng,
)
from tests.toy_runs import run_of
from tests.tree_samples import actions_of


def rnng(name: str = "rnng") -> RnngNetwork:
    network = make_network(name, tiny_vocabulary())
    assert isinstance(network, RnngNetwork)
    return network


@pytest.mark.parametrize("action_norm", ["legal", "full"])
@pytest.mark.parametrize("layers", [1, 2])
def test_weights_mean_the_same_under_other_names(action_norm: str, layers: int) -> None:
    vocabulary = tiny_vocabulary()
    network = make_rnng(vocabulary, layers=layers, action_norm=action_norm)
    plain = PlainRnng(
        Actions(list(vocabulary.labels)), vocab=len(vocabulary), padding_idx=0,
        w_dim=network.word_embedding.embedding_dim, h_dim=network.to_output.in_features,
        num_layers=layers,
    ).double()  # fmt: skip
    plain.load_state_dict(peer_weights(network))
    tree = parse_tree("(S (A a b) c (A (A c)))")
    labels = {label: FIRST_OPEN + number for number, label in enumerate(vocabulary.labels)}
    derivation = actions_of(tree, "top_down")
    actions = [
        labels[one.label] if isinstance(one, Open) else SHIFT if isinstance(one, Word) else REDUCE
        for one in derivation
    ]

    def never(depth: int, last: int) -> Tensor:
        return never_next(torch.tensor(depth), torch.tensor(last), plain.num_actions, action_norm)

    with torch.no_grad():
        found = plain.joint(actions, vocabulary.encode(tree.words()), never)
        expected = StepwiseRnng(network, vocabulary).log_prob(derivation)
    assert float(found) == pytest.approx(float(sum(expected)), abs=1e-10)


@pytest.mark.parametrize("action_norm", ["legal", "full"])
def test_an_aligned_model_excludes_after_it_has_normalised(action_norm: str) -> None:
    model = aligned(Renormalising, action_norm)()
    scores = torch.randn(1, 2, 5, dtype=torch.float64)
    invalid = model.invalid_action_mask(FakeBeam(), None)
    found = model.action_log_probs(scores, invalid)
    if action_norm == "legal":
        # At the start only labels, 3 and 4; after a label no REDUCE.
        start = scores[0, 0, 3] - scores[0, 0, 3:].logsumexp(0)
        after = scores[0, 1, [1, 3]] - scores[0, 1, [1, 3, 4]].logsumexp(0)
    else:
        start = scores[0, 0, 3] - scores[0, 0, 1:].logsumexp(0)
        after = scores[0, 1, [1, 3]] - scores[0, 1, 1:].logsumexp(0)
    torch.testing.assert_close(found[0, 0, 3], start)
    torch.testing.assert_close(found[0, 1, [1, 3]], after)
    assert (found[..., [0, 4]] == -torch.inf).all()
    assert model.states == 2


def test_an_rnng_is_searched_by_a_checkout(tmp_path: Path) -> None:
    checkout = write_rnng(tmp_path / "rnng")
    model = RnngPytorch(checkout, rnng(), tiny_vocabulary())
    found = model.log_probs([("a",), ("c", "b", "a"), ("b", "c")], Beams(20, 2, 1), batch=2)
    expected = [[-2.0, -0.5], [-2.0, -2.0, -2.0, -0.5], [-2.0, -2.0, -0.5]]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    assert model.states is None


def test_untied_weights_are_loaded(tmp_path: Path) -> None:
    network = make_rnng(tiny_vocabulary(), tied=False)
    RnngPytorch(write_rnng(tmp_path / "rnng"), network, tiny_vocabulary())


@pytest.mark.parametrize("name", ["rnng_in_order", "rnng_attention"])
def test_other_rnngs_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(GardenpathError, match="strategy=top_down"):
        RnngPytorch(tmp_path, rnng(name), tiny_vocabulary())


def test_a_folder_without_the_code_is_refused(tmp_path: Path) -> None:
    with pytest.raises(GardenpathError, match="fixed_stack_models"):
        RnngPytorch(tmp_path, rnng(), tiny_vocabulary())
    plm = make_network("plm", tiny_vocabulary())
    assert isinstance(plm, PlmNetwork)
    with pytest.raises(GardenpathError, match="plm-gen"):
        PublishedPlm(tmp_path, plm, tiny_vocabulary())


@pytest.mark.parametrize("name", ["plm", "plm_full"])
def test_a_gpt2_computes_what_a_plm_computes(name: str) -> None:
    vocabulary = tiny_vocabulary()
    network = make_network(name, vocabulary)
    assert isinstance(network, PlmNetwork)
    closing = network.vocabulary_size
    opening, word = closing + 1, closing - 1
    symbols = torch.tensor([[BEGIN_ID, opening, opening + 1, word, closing, word]])
    with torch.no_grad():
        found = HuggingFacePlm(network).double().eval()(symbols)[0].log_softmax(-1)
        logits = network.output.logits(network.decoder(symbols))
    if name == "plm":
        logits[0, 0, : closing + 1] = -torch.inf
        logits[0, [1, 2], closing] = -torch.inf
    torch.testing.assert_close(found, logits.log_softmax(-1), rtol=0, atol=1e-10)


def test_a_plm_is_searched_by_a_checkout(tmp_path: Path) -> None:
    network = make_network("plm", tiny_vocabulary()).float()
    assert isinstance(network, PlmNetwork)
    model = PublishedPlm(write_plm(tmp_path / "plm"), network, tiny_vocabulary())
    found = model.log_probs([("a", "c")], Beams(20, 2, 1))
    np.testing.assert_allclose(found, [[-2 * math.log(2), -2 * math.log(2), math.nan]])
    assert model.states == 1


def test_structured_heads_are_refused(tmp_path: Path) -> None:
    network = make_network("plm_mask", tiny_vocabulary())
    assert isinstance(network, PlmNetwork)
    with pytest.raises(GardenpathError, match="structured_heads=false"):
        PublishedPlm(tmp_path, network, tiny_vocabulary())


def test_symbols_have_the_ids_of_a_plm() -> None:
    vocabulary = tiny_vocabulary()
    symbols = Symbols(vocabulary)
    assert len(symbols) == len(vocabulary) + 1 + len(vocabulary.labels)
    assert symbols.convert_tokens_to_ids("[START]") == BEGIN_ID
    names = [vocabulary.tokens[-1], "REDUCE()", f"NT({vocabulary.labels[0]})"]
    size = len(vocabulary)
    assert symbols.convert_tokens_to_ids(names) == [size - 1, size, size + 1]


def test_beams_are_read() -> None:
    assert parse_beams("200/20/5") == Beams(200, 20, 5)
    assert str(Beams()) == "100/10/1"
    assert Beams(200, 20, 5).ours().fast_track == 5


def row_of(series: str, error: float, cost_ms: float) -> Row:
    return Row("peer", series, f"{error}", "", 10, error, error, 0.0, 0, 1.0, cost_ms)


def test_only_the_best_settings_of_the_other_count() -> None:
    theirs = [row_of("other", 0.5, 100.0), row_of("other", 0.6, 400.0), row_of("other", 0.1, 800.0)]
    ours = [row_of("ours", 0.5, 10.0), row_of("ours", 0.1, 40.0)]
    table = peer.equal_error(theirs, ours)
    assert list(table.columns[1].cells) == ["0.5000", "0.1000"]
    assert list(table.columns[-1].cells) == ["10.0", "20.0"]


@pytest.mark.parametrize("model", ["rnng", "plm"])
def test_the_comparison_is_printed(
    model: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write: Any = {"rnng": write_rnng, "plm": write_plm}[model]
    run = run_of(folder, model).path
    given = [
        "--peer", str(write(tmp_path / "peer")), "--run", str(run), "--corpus", "toy",
        "--sentences", "2", "--our-sentences", "3", "--variants", "4", "--peer-variants", "2",
        "--rounds", "1", "--ladder", "20/4/1", "30/4/1", "--our-ladder", "5/1/1", "10/2/2",
        "--settings", "unbiased:action_beam=10,word_beam=4", "--reference",
        "word_sync:action_beam=20,word_beam=4", "--csv", str(tmp_path / "rows.csv"), "--figure",
        str(tmp_path / "figure.svg"),
    ]  # fmt: skip
    peer.report(peer.make_parser().parse_args(given))
    output = capsys.readouterr().out
    assert "differ by at most" in output
    for title in ("Independent sentences", "Variants of", "equal error"):
        assert title in output
    assert len((tmp_path / "rows.csv").read_text().splitlines()) == 1 + 2 + 3
    assert "</svg>" in (tmp_path / "figure.svg").read_text()
