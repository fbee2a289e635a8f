"""Small stand-ins for the checkouts of published code, with the same interface.

Their weights have the same names and shapes, and the model computes the joint probability of words
and tree in the plainest way, with the modules of PyTorch. Their searches return made-up numbers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

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
    own = "from tests.peer_checkouts import {} as {}\n"
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
