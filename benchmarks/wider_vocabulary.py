"""A run whose vocabulary has grown by words that never come next.

The scores of the new words are computed like all others, but the output layer excludes them, so
that surprisals are those of the run. Only the work over the vocabulary grows.
"""

from __future__ import annotations

import copy
from pathlib import Path

import torch
from torch import Tensor, nn

from gardenpath.errors import GardenpathError
from gardenpath.models.output import NextToken
from gardenpath.models.syntactic.networks import PlmNetwork, RnngNetwork
from gardenpath.runs.model import TrainedModel
from gardenpath.runs.run import Run


class _WiderModel(TrainedModel):
    """A trained model with ``factor`` times as many words."""

    factor = 1

    def network(self) -> RnngNetwork | PlmNetwork:
        """The trained network with a wider vocabulary."""
        network = super().network()
        assert isinstance(network, RnngNetwork | PlmNetwork), "the run must be of an RNNG or a PLM"
        return widened(network, self.factor)


def wider_run(path: str | Path, factor: int) -> Run:
    """Return a run with ``factor`` times as many words."""
    run = Run(path, device="cpu")
    model = _WiderModel(run.folder, run.trained.settings, "auto")
    model.factor = factor
    run.__dict__["model"] = model  # in place of the cached one
    return run


def widened(network: RnngNetwork | PlmNetwork, factor: int) -> RnngNetwork | PlmNetwork:
    """Return a network with more words, after the words that it has."""
    if network.piece_bias is not None:
        raise GardenpathError("only vocabularies of words can be widened: use a run without pieces")
    result = copy.deepcopy(network)
    if isinstance(result, RnngNetwork):
        words = result.word_embedding.num_embeddings
        is_tied = result.word_output.linear.weight is result.word_embedding.weight
        result.word_embedding = _embedding(result.word_embedding, words, factor)
        _widen_output(result.word_output, words, factor)
        if is_tied:
            result.word_output.linear.weight = result.word_embedding.weight
    else:
        # Brackets come after the words.
        words, decoder = result.vocabulary_size, result.decoder
        decoder.token_embedding = _embedding(decoder.token_embedding, words, factor)
        _widen_output(result.output, words, factor)
        result.output.linear.weight = decoder.token_embedding.weight
        result.vocabulary_size = words * factor
    return result


def _embedding(old: nn.Embedding, words: int, factor: int) -> nn.Embedding:
    rows = _more(old.weight.detach(), words, factor)
    new = nn.Embedding(len(rows), rows.shape[1])
    new.weight = nn.Parameter(rows, requires_grad=False)
    return new


def _widen_output(output: NextToken, words: int, factor: int) -> None:
    linear = output.linear
    linear.weight = nn.Parameter(_more(linear.weight.detach(), words, factor), requires_grad=False)
    if linear.bias is not None:
        linear.bias = nn.Parameter(_more(linear.bias.detach(), words, factor), requires_grad=False)
    excluded = _more(output.excluded, words, factor)
    excluded[words : words * factor] = -torch.inf
    output.excluded = excluded
    output.word_branches = words * factor


def _more(rows: Tensor, words: int, factor: int) -> Tensor:
    """Repeat the first ``words`` rows; the others follow."""
    return torch.cat([*[rows[:words]] * factor, rows[words:]])
