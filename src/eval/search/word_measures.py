"""What the survivors of a token say about it: entropy, depth, and which analysis is the best.

All are sums over the survivors d of a group, weighted by their share p(d) of the total weight. With
*joint* the log joint probability of an analysis, the entropy over analyses is log P - Σ p(d) joint:
this holds for sampled hypotheses too, whose weight is not their probability, and sums of replicates
can be pooled by their weights.

Surprisal has two parts. Before the word, the analyses d have the probabilities p(d | prefix), after
it q(d) = p(d | prefix, word):

    -log p(word | prefix) = Σ q(d) · -log p(word | d, prefix)  +  KL(q ‖ p)

The first is the surprisal of the word itself, given the analysis; the second is by how much the
word changes the distribution over analyses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from scipy.special import logsumexp
from torch import Tensor

from gardenpath.data.arrays import Floats
from gardenpath.eval.search.beam import Beam
from gardenpath.units import bits

# An analysis counts if it is at most this many times less probable than the best.
FACTOR = 100.0

# Columns of what is measured for each group, in order.
_JOINT, _DEPTH, _LAST, BEST_JOINT, _ANALYSES, _KEPT, _REANALYSIS, _TOTAL = range(8)
MEASURED = 8


def measured(beam: Beam, came_from_best: Tensor) -> Tensor:
    """Return ``(groups, 8)`` sums over survivors that are about to read a word.

    ``came_from_best``: ``(groups, width)``, whether a survivor continues the best analysis before
    the word.
    """
    joint, last = beam.joint.masked_fill(~beam.is_alive, -torch.inf), beam.last
    total = beam.score.logsumexp(1)
    share = (beam.score - total.unsqueeze(1)).exp().nan_to_num(0.0)
    best, place = joint.max(1)
    is_near = joint >= (best - float(np.log(FACTOR))).unsqueeze(1)
    sums = torch.stack(
        [
            joint.masked_fill(~beam.is_alive, 0.0),
            beam.depth.to(joint),
            last.masked_fill(~beam.is_alive, 0.0),
            came_from_best.to(joint),
        ],
        dim=2,
    )
    means = (sums * share.unsqueeze(2)).sum(1)
    reanalysed = 1.0 - came_from_best.gather(1, place.unsqueeze(1)).to(joint).squeeze(1)
    near = (is_near & beam.is_alive).sum(1).to(joint)
    return torch.stack([*means.T[:3], best, near, means[:, 3], reanalysed, total], dim=1)


def is_best(beam: Beam) -> Tensor:
    """``(groups, width)``: whether a hypothesis is the most probable one of its group."""
    joint = beam.joint.masked_fill(~beam.is_alive, -torch.inf)
    slots = torch.arange(joint.shape[1], device=joint.device)
    return slots == joint.argmax(1, keepdim=True)


@dataclass(frozen=True)
class TokenMeasures:
    """Measures after each token of a sentence, averaged over replicates: ``(tokens,)`` each.

    ``entropy_bits``, ``open_constituents``, ``analyses``, ``best_share``, ``best_kept_share`` and
    ``reanalysis`` describe the analyses after the token; ``word_bits`` is the expected surprisal
    of the token given the analysis.
    """

    entropy_bits: Floats
    open_constituents: Floats
    analyses: Floats
    word_bits: Floats
    best_share: Floats
    best_kept_share: Floats
    reanalysis: Floats

    def by_name(self) -> Mapping[str, Floats]:
        """Return the measures that describe the analyses after a token, by name."""
        return {name: getattr(self, name) for name in AFTER_TOKEN}


# Measures of the last piece of a word are those of the word.
AFTER_TOKEN = (
    "entropy_bits", "open_constituents", "analyses", "best_share", "best_kept_share", "reanalysis",
)  # fmt: skip


def token_measures(found: Floats) -> TokenMeasures:
    """Pool what was measured in replicates, ``(tokens, replicates, 8)``, by their weights."""
    log_probs = found[..., _TOTAL]
    total = logsumexp(log_probs, axis=1) if log_probs.size else np.zeros(len(log_probs))
    # Replicates without survivors have no weight.
    weight = np.exp(log_probs - total[:, None])
    pooled = np.einsum("tr,trk->tk", weight, np.where(weight[..., None] > 0, found, 0.0))
    mean_log_prob = total - np.log(max(log_probs.shape[1], 1))
    best = found[..., BEST_JOINT].argmax(1)
    rows = np.arange(len(found))
    return TokenMeasures(
        entropy_bits=np.maximum(bits(pooled[:, _JOINT] - mean_log_prob), 0.0),
        open_constituents=pooled[:, _DEPTH],
        analyses=found[..., _ANALYSES].max(1),
        word_bits=bits(pooled[:, _LAST]),
        # An estimate of the total that is too low can be below a part of it.
        best_share=np.minimum(np.exp(found[rows, best, BEST_JOINT] - mean_log_prob), 1.0),
        best_kept_share=pooled[:, _KEPT],
        reanalysis=found[rows, best, _REANALYSIS],
    )
