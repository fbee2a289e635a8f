"""An output layer that first predicts the class of a word, then the word within its class.

p(word | state) = p(class of the word | state) · p(word | class, state), each a softmax. With √V
classes of about √V words, a probability costs as much as that of a vocabulary of about 2√V words,
and is exact: the probabilities of all words add up to one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from gardenpath.data.arrays import Ints
from gardenpath.data.encoding.encoded import EncodedSplit
from gardenpath.data.words.vocabulary import BEGIN_ID, PAD_ID
from gardenpath.errors import GardenpathError
from gardenpath.models.factored.class_blocks import member_log_prob
from gardenpath.models.factored.word_classes import (
    NO_CLASS,
    class_count,
    classes_by_context,
    classes_by_frequency,
    most_in_class,
)
from gardenpath.models.family import OutputKind
from gardenpath.models.sequential.output import NextToken


class FactoredToken(NextToken):
    """A softmax over classes of words, and one over the words of each class.

    ``singles`` symbols at the end of the vocabulary (brackets) have no class and are predicted
    together with the classes. The classes are part of the weights. Before :meth:`learn_classes`,
    words of similar frequency form a class.
    """

    def __init__(
        self,
        *,
        hidden: int,
        vocabulary_size: int,
        bias: bool = True,
        never: Sequence[int] = (PAD_ID, BEGIN_ID),
        singles: int = 0,
    ) -> None:
        super().__init__(
            hidden=hidden, vocabulary_size=vocabulary_size, bias=bias, never=never, singles=singles
        )
        self._never = tuple(never)
        self._words = vocabulary_size - singles
        self.word_branches = class_count(self._words)
        self.class_linear = nn.Linear(hidden, self.word_branches + singles)
        nn.init.zeros_(self.class_linear.bias)
        shape = self.word_branches, most_in_class(self._words)
        self.word_class: Tensor
        self.register_buffer("word_class", torch.zeros(self._words, dtype=torch.long))
        # What follows from the classes: the branch of each symbol, its place in its class, and the
        # members of each class.
        self.branch: Tensor
        self.register_buffer("branch", torch.zeros(vocabulary_size).long(), persistent=False)
        self.place: Tensor
        self.register_buffer("place", torch.zeros(self._words).long(), persistent=False)
        self.members: Tensor
        self.register_buffer("members", torch.zeros(shape).long(), persistent=False)
        self.is_member: Tensor
        self.register_buffer("is_member", torch.zeros(shape).bool(), persistent=False)
        self.set_classes(classes_by_frequency(self._words, never))

    def learn_classes(self, split: EncodedSplit) -> None:
        """Form classes of words that occur in similar contexts."""
        self.set_classes(classes_by_context(split, self._words, self._never))

    def set_classes(self, word_class: Ints) -> None:
        """Set the ``(words,)`` classes; ``NO_CLASS`` for symbols that never come next."""
        self._require_classes(word_class)
        words = np.flatnonzero(word_class != NO_CLASS)
        ordered = words[np.argsort(word_class[words], kind="stable")]
        classes = word_class[ordered]
        starts = np.searchsorted(classes, np.arange(self.word_branches))
        place = np.arange(len(ordered)) - starts[classes]
        self.word_class.copy_(torch.from_numpy(word_class))
        self.branch[: self._words] = torch.from_numpy(np.maximum(word_class, 0))
        singles = len(self.branch) - self._words
        self.branch[self._words :] = self.word_branches + torch.arange(singles)
        self.place.zero_()
        self.place[torch.from_numpy(ordered)] = torch.from_numpy(place)
        self.members.zero_()
        self.is_member.zero_()
        where = torch.from_numpy(classes), torch.from_numpy(place)
        self.members[where] = torch.from_numpy(ordered)
        self.is_member[where] = True

    def _require_classes(self, word_class: Ints) -> None:
        """Refuse classes that are none of this layer."""
        is_word = np.ones(self._words, dtype=bool)
        is_word[[token for token in self._never if token < self._words]] = False
        found = word_class[is_word]
        is_usable = (
            (found >= 0).all()
            and (found < self.word_branches).all()
            and (word_class[~is_word] == NO_CLASS).all()
            and (np.bincount(found, minlength=1) <= self.members.shape[1]).all()
        )
        if not is_usable:
            raise GardenpathError("the classes of words do not fit the vocabulary")

    def _load_from_state_dict(self, *arguments: Any, **named: Any) -> None:
        super()._load_from_state_dict(*arguments, **named)
        self.set_classes(self.word_class.cpu().numpy().copy())

    def branches(self) -> tuple[Tensor, Tensor]:
        """Return weights and biases of classes and singles; ``-inf`` for classes without words."""
        is_empty = functional.pad(
            ~self.is_member.any(1), (0, len(self.class_linear.bias) - self.word_branches)
        )
        return self.class_linear.weight, self.class_linear.bias.masked_fill(is_empty, -torch.inf)

    def branch_logits(self, states: Tensor) -> Tensor:
        """``(…, classes + singles)`` logits; ``-inf`` for classes without words."""
        return functional.linear(states, *self.branches())

    def branch_of(self, tokens: Tensor) -> Tensor:
        """Return the classes of words, and the numbers of single symbols after them."""
        return self.branch[tokens]

    def branch_score(self, states: Tensor, tokens: Tensor) -> Tensor:
        branches = self.branch[tokens]
        scores = (states * self.class_linear.weight[branches]).sum(1)
        return scores + self.class_linear.bias[branches]

    def within_log_prob(self, states: Tensor, words: Tensor) -> Tensor:
        """``(rows,)`` log probabilities of words given their classes."""
        found = member_log_prob(
            states,
            self.branch[words],
            self.place[words],
            weight=self.linear.weight,
            bias=self.linear.bias,
            members=self.members,
            is_member=self.is_member,
        )
        return found.masked_fill(self.word_class[words] == NO_CLASS, -torch.inf)

    def target_log_prob(self, states: Tensor, targets: Tensor) -> Tensor:
        logits = self.branch_logits(states)
        negative = functional.cross_entropy(logits, self.branch_of(targets), reduction="none")
        return self.within_log_prob(states, targets) - negative

    def log_prob_after(self, states: Tensor, contexts: Tensor, targets: Tensor) -> Tensor:
        return self.target_log_prob(states[contexts], targets)

    def logits(self, states: Tensor) -> Tensor:
        """``(…, vocabulary)`` log probabilities of all tokens, which are logits of themselves.

        This costs as much as a softmax over all words; the other methods do not use it.
        """
        branches = self.branch_logits(states).log_softmax(-1)
        scores = super().logits(states)[..., : self._words]
        members = scores[..., self.members].masked_fill(~self.is_member, -torch.inf)
        # A class without words has no probability to divide.
        totals = members.logsumexp(-1).masked_fill(~self.is_member.any(1), 0.0)
        words = (
            scores + (branches[..., : self.word_branches] - totals)[..., self.branch[: self._words]]
        )
        return torch.cat([words, branches[..., self.word_branches :]], dim=-1)


def make_output(
    kind: OutputKind,
    *,
    hidden: int,
    vocabulary_size: int,
    bias: bool = True,
    never: Sequence[int] = (PAD_ID, BEGIN_ID),
    singles: int = 0,
    has_pieces: bool = False,
) -> NextToken:
    """Return an output layer; ``singles`` symbols at the end of the vocabulary are no words."""
    if kind == "full":
        return NextToken(
            hidden=hidden, vocabulary_size=vocabulary_size, bias=bias, never=never, singles=singles
        )
    if has_pieces:
        raise GardenpathError(
            "model.network.output=factored needs a vocabulary of whole words; use output=full"
        )
    return FactoredToken(
        hidden=hidden, vocabulary_size=vocabulary_size, bias=bias, never=never, singles=singles
    )


def learn_classes(network: nn.Module, split: EncodedSplit) -> None:
    """Form the classes of all factored output layers of a network from its training split."""
    for layer in network.modules():
        if isinstance(layer, FactoredToken):
            layer.learn_classes(split)
