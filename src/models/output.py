"""Output layers over words, and the sums of log probabilities that all networks return.

All networks end in a softmax, or in classes of words and then the words of a class
(:func:`make_output`). Symbols that never come next are excluded everywhere, so that perplexities of
all families are comparable. Training and perplexity add :class:`BatchScores` up to :class:`Totals`.
"""

from __future__ import annotations

import abc
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse
import torch
from torch import Tensor, nn
from torch.nn import functional

from gardenpath.data.arrays import Floats, Ints
from gardenpath.data.batches.tokens import TokenBatch
from gardenpath.data.encoding import EncodedSplit
from gardenpath.data.words.vocabulary import BEGIN_ID, END_ID, PAD_ID
from gardenpath.errors import GardenpathError
from gardenpath.models.family import OutputKind
from gardenpath.util import perplexity_of


class SequentialNetwork(nn.Module, abc.ABC):
    """A network that predicts each token from the preceding tokens, through its output layer."""

    output: NextToken

    @abc.abstractmethod
    def states(self, batch: TokenBatch) -> Tensor:
        """``(sentences, length, hidden)`` states from which the targets are predicted."""

    def log_prob(self, batch: TokenBatch) -> Tensor:
        """``(sentences, length)`` log probabilities of the targets, zero on padding."""
        return self.output.log_prob(self.states(batch), batch)

    def score(self, batch: TokenBatch) -> BatchScores:
        """Return the summed log probabilities of a batch."""
        return score_tokens(self.log_prob(batch), batch)


class NextToken(nn.Module):
    """A linear layer and a softmax over all tokens that can come next.

    Symbols that never come next (padding, the begin symbol) are excluded from the normalisation, so
    that probabilities are comparable with those of n-gram models over the same vocabulary.

    Subclasses may predict a token in two steps, first a *branch*, then the token within it
    (:class:`FactoredToken`); here, every token is its own branch. ``singles`` symbols at the end of
    the vocabulary are no words; the branches of words come first, ``word_branches`` of them.
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
        super().__init__()
        self.linear = nn.Linear(hidden, vocabulary_size, bias=bias)
        excluded = torch.zeros(vocabulary_size)
        excluded[list(never)] = -torch.inf
        self.word_branches = vocabulary_size - singles
        self.excluded: Tensor
        self.register_buffer("excluded", excluded, persistent=False)

    def logits(self, states: Tensor) -> Tensor:
        """``(…, vocabulary)`` logits, ``-inf`` for tokens that cannot come next."""
        bias = self.linear.bias
        # As part of the bias, the exclusion costs nothing.
        excluded = self.excluded if bias is None else bias + self.excluded
        return functional.linear(states, self.linear.weight, excluded)

    def log_prob(self, states: Tensor, batch: TokenBatch) -> Tensor:
        """``(sentences, length)`` log probabilities of the targets, zero on padding.

        Only the rows of real tokens pass through this matrix product, the most expensive operation.
        """
        log_prob = self.target_log_prob(states[batch.is_token], batch.targets[batch.is_token])
        result = torch.zeros(batch.targets.shape, dtype=log_prob.dtype, device=log_prob.device)
        return result.masked_scatter(batch.is_token, log_prob)

    def target_log_prob(self, states: Tensor, targets: Tensor) -> Tensor:
        """``(rows,)`` log probabilities of targets after ``(rows, hidden)`` states."""
        return -functional.cross_entropy(self.logits(states), targets, reduction="none")

    def log_prob_after(self, states: Tensor, contexts: Tensor, targets: Tensor) -> Tensor:
        """``(rows,)`` log probabilities of targets after some of the states, given by number."""
        return functional.log_softmax(self.logits(states), dim=-1)[contexts, targets]

    def branch_logits(self, states: Tensor) -> Tensor:
        """``(…, branches)`` logits of the branches, ``-inf`` for those that cannot come next."""
        return self.logits(states)

    def branches(self) -> tuple[Tensor, Tensor]:
        """Return weights and biases of the branches; a bias is ``-inf`` if none can come next."""
        bias = self.linear.bias
        return self.linear.weight, self.excluded if bias is None else bias + self.excluded

    def branch_of(self, tokens: Tensor) -> Tensor:
        """Return the branch of each token."""
        return tokens

    def branch_score(self, states: Tensor, tokens: Tensor) -> Tensor:
        """``(rows,)`` logits of the branches of tokens that can come next."""
        scores = (states * self.linear.weight[tokens]).sum(1)
        return scores if self.linear.bias is None else scores + self.linear.bias[tokens]

    def within_log_prob(self, states: Tensor, words: Tensor) -> Tensor:
        """``(rows,)`` log probabilities of words given their branches: here, zero."""
        return states.new_zeros(len(states))


# ----------------------------------------------------------------------------
# Softmax over the members of a class, for many rows of different classes at a time.
#
# Rows are sorted by class and divided into blocks of equal size, each of one class. Then the
# scores of all members of these classes are one batched matrix product, which reads each class
# about once.


# Rows of a block: large ones are padded more, small ones read the weights of a class more often.
_BLOCK = 32
# Maximum number of weights gathered at a time.
_MOST_GATHERED = 1 << 24


def class_blocks(
    classes: Tensor, count: int, *, size: int = _BLOCK, waits: bool = True
) -> tuple[Tensor, Tensor]:
    """Return ``(blocks,)`` classes of blocks, and for each row its ``(rows,)`` place in them.

    ``classes`` are ``(rows,)`` numbers below ``count``; place ``p`` is in block ``p // size``. If
    the host does not wait for their number, there are as many blocks as could be needed.
    """
    totals = torch.zeros(count, dtype=torch.long, device=classes.device)
    totals = totals.index_add(0, classes, torch.ones_like(classes))
    blocks = (totals + size - 1) // size
    ends = blocks.cumsum(0)
    order = classes.argsort(stable=True)
    ordered = classes[order]
    rank = torch.arange(len(classes), device=classes.device) - (totals.cumsum(0) - totals)[ordered]
    place = torch.empty_like(classes)
    place[order] = (ends - blocks)[ordered] * size + rank
    most = len(classes) // size + min(count, len(classes))
    needed = int(ends[-1]) if waits else most
    numbers = torch.arange(needed, device=classes.device)
    return torch.searchsorted(ends, numbers, right=True).clamp(max=count - 1), place


def member_log_prob(
    states: Tensor,
    classes: Tensor,
    targets: Tensor,
    *,
    weight: Tensor,
    bias: Tensor | None,
    members: Tensor,
    is_member: Tensor,
) -> Tensor:
    """``(rows,)`` log probabilities of the member ``targets`` of ``classes``, given the class.

    ``members`` are ``(classes, most)`` rows of ``weight`` and ``bias``, padded where ``is_member``
    is false; every class has at least one.
    """
    width = states.shape[1]
    is_on_host = states.device.type == "cpu"
    block_class, place = class_blocks(classes, len(members), waits=is_on_host)
    grid = states.new_zeros(len(block_class) * _BLOCK, width).index_copy(0, place, states)
    step = max(1, _MOST_GATHERED // (members.shape[1] * width))
    parts = []
    for rows, number in zip(
        grid.view(-1, _BLOCK, width).split(step), block_class.split(step), strict=True
    ):
        chosen = members[number]
        excluded = torch.zeros_like(chosen, dtype=states.dtype)
        excluded = excluded.masked_fill(~is_member[number], -torch.inf)
        if bias is not None:
            excluded = excluded + bias[chosen]
        # Not indexing, whose gradient is slow.
        vectors = functional.embedding(chosen, weight)
        parts.append(torch.baddbmm(excluded.unsqueeze(1), rows, vectors.transpose(1, 2)))
    scores = torch.cat(parts).flatten(0, 1) if parts else grid.new_zeros(0, members.shape[1])
    return -functional.cross_entropy(scores[place], targets, reduction="none")


# ----------------------------------------------------------------------------
# Classes of words that occur in similar contexts.
#
# Contexts tell as much as possible about the class: classes maximise Σ_w Σ_f N(w, f) log q(f |
# class of w), where N(w, f) counts how often word w has context f (a word to the left, or one to
# the right), and q is the distribution of contexts in a class (information-theoretic clustering;
# Dhillon et al. 2003). As in k-means, words move to the best class and classes are estimated anew,
# in turn. Everything is computed in one order, with the same result for the same corpus.

# The class of symbols that never come next.
NO_CLASS = -1

# Contexts are the most frequent words on each side; all others count as one.
_CONTEXTS = 2000
# Tokens that are read: of a larger corpus, blocks of sentences at equal distances.
_MOST_TOKENS = 30_000_000
_BLOCK_SENTENCES = 20_000
_ROUNDS = 12
# Expected occurrences of contexts, in proportion to their frequency, that are added to each class.
_SMOOTHING = 10.0
# A context that no class has is added to all of them, so that logarithms are finite.
_LEAST = 1e-9
# Words that are assigned at a time; limits memory.
_ROWS = 4096


def class_count(vocabulary_size: int) -> int:
    """Return the number of classes: that of the words of a class is of the same order."""
    return max(1, math.ceil(math.sqrt(vocabulary_size)))


def most_in_class(vocabulary_size: int) -> int:
    """Return the maximum number of words of a class."""
    return math.ceil(1.5 * vocabulary_size / class_count(vocabulary_size))


def classes_by_frequency(vocabulary_size: int, never: Iterable[int]) -> Ints:
    """``(vocabulary,)`` classes of equal size from the order of ids, which is that of frequency."""
    words = _words(vocabulary_size, never)
    classes = np.full(vocabulary_size, NO_CLASS, dtype=np.int64)
    classes[words] = np.arange(len(words)) * class_count(vocabulary_size) // max(len(words), 1)
    return classes


def classes_by_context(split: EncodedSplit, vocabulary_size: int, never: Iterable[int]) -> Ints:
    """``(vocabulary,)`` classes of words with similar contexts; ``NO_CLASS`` for ``never``."""
    words = _words(vocabulary_size, never)
    counts = _context_counts(split, vocabulary_size)[words]
    classes = np.full(vocabulary_size, NO_CLASS, dtype=np.int64)
    classes[words] = _clustered(
        counts, class_count(vocabulary_size), most_in_class(vocabulary_size)
    )
    return classes


def _words(vocabulary_size: int, never: Iterable[int]) -> Ints:
    return np.setdiff1d(np.arange(vocabulary_size), np.array(list(never), dtype=np.int64))


def _context_counts(split: EncodedSplit, vocabulary_size: int) -> scipy.sparse.csr_array:
    """``(vocabulary, contexts)`` numbers of words to the left and, in other columns, the right."""
    frequency = np.zeros(vocabulary_size, dtype=np.int64)
    for before, _ in _neighbours(split):
        frequency += np.bincount(before, minlength=vocabulary_size)
    contexts = np.lexsort((np.arange(vocabulary_size), -frequency))[:_CONTEXTS]
    column = np.full(vocabulary_size, len(contexts), dtype=np.int64)
    column[contexts] = np.arange(len(contexts))
    width = len(contexts) + 1
    total = scipy.sparse.csr_array((vocabulary_size, 2 * width), dtype=np.float64)
    for before, after in _neighbours(split):
        rows = np.concatenate([after, before])
        columns = np.concatenate([column[before], column[after] + width])
        ones = np.ones(len(rows))
        total = total + scipy.sparse.csr_array((ones, (rows, columns)), shape=total.shape)
    return total


def _neighbours(split: EncodedSplit) -> Iterator[tuple[Ints, Ints]]:
    """Yield words and the words after them, with the begin and the end of each sentence."""
    starts = range(0, len(split), _BLOCK_SENTENCES)
    for start in starts[:: math.ceil(len(split.tokens) / _MOST_TOKENS) or 1]:
        block = split.take(np.arange(start, min(start + _BLOCK_SENTENCES, len(split))))
        tokens = block.tokens.astype(np.int64)
        before = np.insert(tokens, block.offsets[:-1], BEGIN_ID)
        after = np.insert(tokens, block.offsets[1:], END_ID)
        yield before, after


def _clustered(counts: scipy.sparse.csr_array, classes: int, most: int) -> Ints:
    """``(words,)`` classes, each of at most ``most`` words."""
    frequency = counts.sum(axis=1)
    order = np.lexsort((np.arange(len(frequency)), -frequency))
    sorted_counts = counts[order]
    # At first, each of the most frequent words is a class.
    seeds = min(classes, len(order))
    assigned = np.arange(seeds)
    for _ in range(_ROUNDS):
        # Log probabilities of contexts, given the classes of words: (contexts, classes).
        members = np.ones(len(assigned)), (assigned, np.arange(len(assigned)))
        is_member = scipy.sparse.csr_array(members, shape=(classes, len(assigned)))
        sums = (is_member @ sorted_counts[: len(assigned)]).toarray() + _LEAST
        sums += _SMOOTHING * sums.sum(axis=0) / sums.sum()
        log_contexts = np.ascontiguousarray(np.log(sums / sums.sum(axis=1, keepdims=True)).T)
        before, assigned = assigned, _assigned(sorted_counts, log_contexts, most)
        if np.array_equal(before, assigned):
            break
    result = np.empty_like(assigned)
    result[order] = assigned
    return result


def _assigned(counts: scipy.sparse.csr_array, log_contexts: Floats, most: int) -> Ints:
    """``(words,)`` best classes that still have room, word after word."""
    assigned = np.empty(counts.shape[0], dtype=np.int64)
    room = np.full(log_contexts.shape[1], most)
    penalty = np.zeros(log_contexts.shape[1])
    for start in range(0, len(assigned), _ROWS):
        scores = counts[start : start + _ROWS] @ log_contexts
        for place, row in enumerate(scores, start):
            best = int(np.argmax(row + penalty))
            assigned[place] = best
            room[best] -= 1
            if not room[best]:
                penalty[best] = -np.inf
    return assigned


# ----------------------------------------------------------------------------
# p(word | state) = p(class of the word | state) · p(word | class, state), each a softmax. With √V
# classes of about √V words, a probability costs as much as that of a vocabulary of about 2√V
# words, and is exact: the probabilities of all words add up to one.


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
        never: Sequence[int] = (PAD_ID, BEGIN_ID),
        singles: int = 0,
        **named: Any,
    ) -> None:
        super().__init__(hidden=hidden, vocabulary_size=vocabulary_size, never=never, **named)
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
        classes = word_class[is_word]
        is_usable = (
            (classes >= 0).all()
            and (classes < self.word_branches).all()
            and (word_class[~is_word] == NO_CLASS).all()
            and (np.bincount(classes, minlength=1) <= self.members.shape[1]).all()
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
        log_prob = member_log_prob(
            states, self.branch[words], self.place[words], weight=self.linear.weight,
            bias=self.linear.bias, members=self.members, is_member=self.is_member,
        )  # fmt: skip
        return log_prob.masked_fill(self.word_class[words] == NO_CLASS, -torch.inf)

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


def make_output(kind: OutputKind, *, has_pieces: bool = False, **named: Any) -> NextToken:
    """Return an output layer, given the arguments of :class:`NextToken`."""
    if kind == "full":
        return NextToken(**named)
    if has_pieces:
        raise GardenpathError(
            "model.network.output=factored needs a vocabulary of whole words; use output=full"
        )
    return FactoredToken(**named)


def learn_classes(network: nn.Module, split: EncodedSplit) -> None:
    """Form the classes of all factored output layers of a network from its training split."""
    for layer in network.modules():
        if isinstance(layer, FactoredToken):
            layer.learn_classes(split)


# ----------------------------------------------------------------------------
# Sums of log probabilities by kind of event: of a batch, and of a whole split with its metrics.


@dataclass(frozen=True, slots=True)
class BatchScores:
    """Sums of log probabilities (nats) by kind of event, and numbers of words and sentences.

    Kinds are ``word`` and ``end`` (the end of a sentence) for sequential models, and ``word`` and
    ``action`` for syntactic models.
    """

    log_prob: Mapping[str, Tensor]
    words: Tensor
    sentences: Tensor

    @property
    def events(self) -> Tensor:
        return self.words + self.sentences

    def loss(self, events: Tensor | None = None) -> Tensor:
        """Return the mean negative log-likelihood per event (word or end of sentence).

        For a part of a batch, ``events`` is the number of events of the whole batch; the losses of
        the parts then add up to that of the batch.
        """
        nats = -sum(self.log_prob.values(), torch.zeros_like(self.words, dtype=torch.float32))
        return nats / (self.events if events is None else events.to(nats.dtype))

    def uncounted(self) -> BatchScores:
        """Return the scores with weight zero; gradients are zero, but computed."""
        return BatchScores(
            log_prob={kind: value * 0.0 for kind, value in self.log_prob.items()},
            words=torch.zeros_like(self.words),
            sentences=torch.zeros_like(self.sentences),
        )


class Network(Protocol):
    """A neural network: a sequential or a syntactic model."""

    def score(self, batch: Any) -> BatchScores:
        """Return the log probabilities of a batch of the model's kind."""


def score_tokens(log_prob: Tensor, batch: TokenBatch) -> BatchScores:
    """Sum the log probabilities of tokens, ``(sentences, length)`` with zero on padding."""
    end = log_prob.masked_fill(~batch.is_end, 0.0).sum()
    return BatchScores(
        log_prob={"word": log_prob.sum() - end, "end": end},
        words=batch.starts_word.sum(),
        sentences=batch.is_end.sum(),
    )


@dataclass(frozen=True, slots=True)
class Totals:
    """The scores of a whole split; all reported metrics follow from these sums."""

    log_prob: Mapping[str, float]
    words: int
    sentences: int

    @property
    def loss(self) -> float:
        """Mean negative log-likelihood per event, in nats."""
        return -sum(self.log_prob.values()) / (self.words + self.sentences)

    @property
    def perplexity(self) -> float:
        """Perplexity per word, counting the end of each sentence as a word."""
        return perplexity_of(self.loss)

    @property
    def perplexity_without_end(self) -> float:
        """Perplexity per word, without sentence ends."""
        without = sum(value for kind, value in self.log_prob.items() if kind != "end")
        return perplexity_of(-without / self.words)

    @property
    def is_joint(self) -> bool:
        """Whether trees are predicted together with words."""
        return "action" in self.log_prob

    def as_metrics(self) -> dict[str, float]:
        """Return metrics for logs and files; the parts of a joint loss add up to it."""
        if self.is_joint:
            events = self.words + self.sentences
            return {
                "loss": self.loss,
                "joint_perplexity": self.perplexity,
                "action_loss": -self.log_prob["action"] / events,
                "word_loss": -self.log_prob["word"] / events,
            }
        return {
            "loss": self.loss,
            "perplexity": self.perplexity,
            "perplexity_without_end": self.perplexity_without_end,
        }


def joint_totals(network: Network, batches: Iterable[Any]) -> Totals:
    """Sum the scores of all batches; the network must be in evaluation mode."""
    sums: dict[str, float] = defaultdict(float)
    words = sentences = 0
    with torch.inference_mode():
        for batch in batches:
            scores = network.score(batch)
            for kind, value in scores.log_prob.items():
                sums[kind] += float(value)
            words += int(scores.words)
            sentences += int(scores.sentences)
    return Totals(log_prob=dict(sums), words=words, sentences=sentences)
