"""Log probabilities of what comes after a symbol, in the columns of a search."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gardenpath.data.trees.actions import Column, Kind
from gardenpath.models.plm.plm import PlmNetwork
from gardenpath.models.states.lazy_words import MOST_LOGITS
from gardenpath.models.states.piece_bias import BEGINS, piece_row
from gardenpath.models.states.transitions import ends_by_reduce, is_illegal, state_bits


@dataclass(frozen=True)
class NextSymbol:
    """``words``: ``(rows,)`` logsumexp of all word scores; ``log_probs``: ``(rows, columns)``;
    ``word_end``: for models over pieces, ``(rows,)`` log probabilities that the word has ended.
    """

    words: Tensor
    log_probs: Tensor
    word_end: Tensor | None


class NextSymbols:
    """The output layer over words and brackets of a network.

    What is legal depends on the state of a node (:mod:`transitions`). Closing the root ends the
    sentence, so the closing bracket has two columns, END and CLOSE, of which each state has one. An
    opening bracket may come anywhere in a top-down derivation.
    """

    def __init__(self, network: PlmNetwork) -> None:
        self._network = network
        # With classes of words, the whole vocabulary is never needed.
        weight, weight_bias = (part.detach() for part in network.output.branches())
        closing, device = network.output.word_branches, weight.device
        self._words = weight[:closing]
        self._excluded = weight_bias[:closing].to(weight.dtype)
        # Any branch of words that may come next.
        self._some_word = int(self._excluded.argmax())
        close, opens = weight[closing : closing + 1], weight[closing + 1 :]
        # The column of words is filled in later.
        brackets = torch.cat([torch.zeros_like(close), close, close, opens])
        self._brackets = brackets.t().contiguous()
        close_bias, open_bias = weight_bias[closing : closing + 1], weight_bias[closing + 1 :]
        own = torch.cat([torch.zeros_like(close_bias), close_bias, close_bias, open_bias])
        bits = state_bits(network.strategy, device, has_pieces=network.piece_bias is not None)
        self.piece_rows = piece_row(bits)
        is_last = ends_by_reduce(network.strategy, device)
        possible = weight.new_zeros((len(bits), len(brackets)))
        possible[:, Column.END].masked_fill_(~is_last, -torch.inf)
        possible[:, Column.CLOSE].masked_fill_(is_last, -torch.inf)
        legal = possible.clone()
        legal[:, Column.WORD].masked_fill_(is_illegal(bits, Kind.SHIFT), -torch.inf)
        no_close = is_illegal(bits, Kind.REDUCE).unsqueeze(1)
        legal[:, Column.END : Column.CLOSE + 1].masked_fill_(no_close, -torch.inf)
        # With action_norm=full, illegal symbols are part of the normalisation, but never come.
        is_full = network.action_norm == "full"
        self._bias = (possible if is_full else legal) + own
        self._never = legal if is_full else None

    def __call__(self, states: Tensor, legal: Tensor) -> NextSymbol:
        """Return what comes after ``(rows, hidden)`` states; ``legal``: their states' numbers."""
        words, begins = self._word_sums(states, legal)
        scores = self._bias.index_select(0, legal).addmm_(states, self._brackets)
        scores[:, Column.WORD].add_(words)
        log_probs = scores.log_softmax(1)
        word_end = None
        if begins is not None:
            # All but a piece that continues the word.
            others = torch.cat([begins.unsqueeze(1), scores[:, Column.WORD + 1 :]], dim=1)
            word_end = others.logsumexp(1) - scores.logsumexp(1)
        if self._never is not None:
            log_probs += self._never.index_select(0, legal)
        return NextSymbol(words, log_probs, word_end)

    def _word_sums(self, states: Tensor, legal: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return logsumexp over words and, for a model over pieces, over those that begin one."""
        count = max(1, MOST_LOGITS // len(self._words))
        found = [
            self._some_sums(some, numbers)
            for some, numbers in zip(states.split(count), legal.split(count), strict=True)
        ]
        if len(found) == 1:
            return found[0]
        words, begins = zip(*found, strict=True)
        if self._network.piece_bias is None:
            return torch.cat(words), None
        return torch.cat(words), torch.cat(begins)

    def _some_sums(self, states: Tensor, legal: Tensor) -> tuple[Tensor, Tensor | None]:
        logits = torch.addmm(self._excluded, states, self._words.t())
        bias = self._network.piece_bias
        if bias is None:
            # Faster than logsumexp, which makes several passes over the logits.
            some = logits[:, self._some_word]
            return some - logits.log_softmax(1)[:, self._some_word], None
        begins = (logits + bias[BEGINS]).logsumexp(1)
        return (logits + bias[self.piece_rows.index_select(0, legal)]).logsumexp(1), begins
