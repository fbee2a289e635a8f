"""Small stand-ins for the checkouts of published code, with the same interface.

Their weights have the same names and shapes, and the model computes the joint probability of words
and tree in the plainest way, with the modules of PyTorch. Their searches return made-up numbers.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

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
from tests.models.slow_models import StepwiseRnng
from tests.models.syntactic.test_rnng import make_network as make_rnng
from tests.toy_runs import run_of
from tests.tree_samples import actions_of

# Actions: padding, SHIFT, REDUCE, NT of each label.
SHIFT, REDUCE, FIRST_OPEN = 1, 2, 3

_PLM = """
from transformers import AdamW, GPT2Config, GPT2LMHeadModel, GPT2Tokenizer

class PLM:
    def __init__(self):
        raise AssertionError("needs a download")

    def get_surprisals_with_beam_search(
        self, sent, add_structured_mask, beam_size, word_beam_size, fast_track_size
    ):
        tokens = self.tokenizer.tokenize(sent)
        ids = self.tokenizer.convert_tokens_to_ids([ROOT, *tokens])
        scores = self.model(torch.tensor([ids]))[0]
        assert scores.shape == (1, len(ids), len(self.tokenizer))
        return tokens, [beam_size / 10.0 for _ in tokens]

import torch
"""


def write_rnng(folder: Path) -> Path:
    """A checkout with the model below."""
    folder.mkdir(parents=True)
    (folder / "utils.py").write_text("")
    own = "from tests.test_peer_benchmarks import {} as {}\n"
    (folder / "fixed_stack_models.py").write_text(own.format("PlainRnng", "FixedStackRNNG"))
    (folder / "action_dict.py").write_text(own.format("Actions", "TopDownActionDict"))
    return folder


def write_plm(folder: Path) -> Path:
    """A checkout whose search returns a tenth of the beam in bits."""
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "plm-gen.py").write_text(_PLM)
    return folder


class Actions:
    """The actions of a grammar."""

    def __init__(self, labels: list[str]) -> None:
        self.count = FIRST_OPEN + len(labels)


class _StackCells(nn.Module):
    def __init__(self, inputs: int, hidden: int, layers: int) -> None:
        super().__init__()
        widths = [inputs] + [hidden] * (layers - 1)
        self.lstm = nn.ModuleList(nn.LSTMCell(width, hidden) for width in widths)


class _Composition(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.rnn = nn.LSTM(size, size, bidirectional=True, batch_first=True)
        self.output = nn.Sequential(nn.Dropout(0), nn.Linear(2 * size, size), nn.ReLU())


class _Cell(nn.Module):
    def __init__(self, actions: Actions, size: int, hidden: int, layers: int) -> None:
        super().__init__()
        labels = actions.count - FIRST_OPEN
        self.nt_emb: Any = nn.Sequential(nn.Embedding(labels, size))
        self.initial_emb: Any = nn.Sequential(nn.Embedding(1, size))
        self.stack_rnn = _StackCells(size, hidden, layers)
        self.output = nn.Sequential(nn.Dropout(0), nn.Linear(hidden, size), nn.ReLU())
        self.composition = _Composition(size)


class PlainRnng(nn.Module):
    """An RNNG with the weights of rnng-pytorch's, played action by action."""

    def __init__(
        self, actions: Actions, *, vocab: int, padding_idx: int, w_dim: int, h_dim: int,
        num_layers: int,
    ) -> None:  # fmt: skip
        super().__init__()
        self.num_actions = actions.count
        words = nn.Embedding(vocab, w_dim, padding_idx=padding_idx)
        self.emb: Any = nn.Sequential(words)
        self.rnng = _Cell(actions, w_dim, h_dim, num_layers)
        self.vocab_mlp = nn.Linear(w_dim, vocab)
        self.action_mlp = nn.Linear(w_dim, actions.count)
        self.vocab_mlp.weight = words.weight

    def joint(self, actions: list[int], words: list[int], never: Any) -> Tensor:
        """Log probability of a derivation; ``never(depth, last)`` masks actions."""
        stack: list[tuple[list[tuple[Tensor, Tensor]], Tensor]] = []
        opened: list[tuple[int, int]] = []
        self._push(stack, self.rnng.initial_emb[0].weight[0])
        total, last, left = self.action_mlp.bias.new_zeros(()), -1, list(words)
        for action in actions:
            output = self.rnng.output(stack[-1][0][-1][0])
            scores = self.action_mlp(output).masked_fill(never(len(opened), last), -torch.inf)
            total = total + scores.log_softmax(0)[action]
            if action == SHIFT:
                word = left.pop(0)
                total = total + self.vocab_mlp(output).log_softmax(0)[word]
                self._push(stack, self.emb[0].weight[word])
            elif action == REDUCE:
                place, label = opened.pop()
                children = [vector for _, vector in stack[place + 1 :]]
                del stack[place:]
                self._push(stack, self._composed(label, children))
            else:
                opened.append((len(stack), action - FIRST_OPEN))
                self._push(stack, self.rnng.nt_emb[0].weight[action - FIRST_OPEN])
            last = action
        return total

    def _push(self, stack: list[Any], vector: Tensor) -> None:
        states, inputs = [], vector
        for layer, cell in enumerate(self.rnng.stack_rnn.lstm):
            state = cell(inputs, stack[-1][0][layer]) if stack else cell(inputs)
            states.append(state)
            inputs = state[0]
        stack.append((states, vector))

    def _composed(self, label: int, children: list[Tensor]) -> Tensor:
        name = self.rnng.nt_emb[0].weight[label]
        states, _ = self.rnng.composition.rnn(torch.stack([name, *children, name]).unsqueeze(0))
        ahead, back = states[0].chunk(2, dim=1)
        result: Tensor = self.rnng.composition.output(torch.cat([ahead[-2], back[1]]))
        return result

    def word_sync_beam_search(
        self, x: Tensor, mask: Tensor, beam: int, word_beam: int, shifts: int, stack_size_bound: int
    ) -> tuple[list[Any], list[Any]]:
        """Give a tenth of the beam, in nats, to each word, and half a nat to the end."""
        assert mask.shape == x.shape and stack_size_bound == 100
        lengths = (x != 0).sum(1).tolist()
        found = [[beam / 10.0] * length for length in lengths]
        return [[([], -sum(one) - 0.5)] for one in found], found


class FakeBeam:
    """Two hypotheses: one at the start, one that has just opened a constituent."""

    nopen_parens = torch.tensor([[0, 1]])

    def prev_actions(self) -> Tensor:
        """The last actions, -1 if there is none."""
        return torch.tensor([[-1, FIRST_OPEN]])


class Renormalising(nn.Module):
    """Normalises over what its mask allows, like the published model."""

    num_actions = 5

    def invalid_action_mask(self, beam: FakeBeam, sentence_lengths: Any) -> Tensor:
        """Exclude the last label everywhere, as if a limit had been reached."""
        mask = torch.zeros(1, 2, self.num_actions, dtype=torch.bool)
        mask[..., 4] = mask[..., 0] = True
        return mask

    def action_log_probs(self, stack: Tensor, invalid: Tensor, next_x: Any = None) -> Tensor:
        """Log probabilities of the scores ``stack``."""
        return functional.log_softmax(stack.masked_fill(invalid, -torch.inf), -1)


# ----------------------------------------------------------------------------
# The comparison with published code: same weights, same probabilities, and its tables.


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


@pytest.mark.slow
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
