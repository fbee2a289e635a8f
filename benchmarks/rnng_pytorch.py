"""The published implementation of RNNGs, rnng-pytorch (Noji and Oseki 2021), with weights of a run.

The code of others is not part of the project: it is imported from a checkout. Its search is used as
it is. Its model differs from ours in one respect, the actions over which probabilities are
normalised:

- Before the last word, it excludes the end of the sentence (REDUCE of the root), because it knows
  the length of the sentence; after it, it excludes everything but REDUCE.
- At the limits on open constituents, it excludes NT.

With ``is_aligned``, its probabilities are normalised like ours, and the same actions as before are
excluded afterwards. Only then do both have the same model, and differences are those of the search.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from benchmarks.peer_beams import Beams
from gardenpath.data.encoding import encode_sentences
from gardenpath.data.words.vocabulary import PAD_ID, Vocabulary
from gardenpath.errors import GardenpathError
from gardenpath.eval.search.settings import WordSync
from gardenpath.models.syntactic.composition import LstmComposition
from gardenpath.models.syntactic.networks import RnngNetwork
from gardenpath.util import Words

NAME = "rnng-pytorch"
_MODULES = ("fixed_stack_models", "action_dict", "utils")


class RnngPytorch:
    """The model and the search of a checkout.

    ``stack_bound`` is the option ``--stack_size_bound``: with 100, stacks have room for 20 elements
    more than the sentence has words (at most 100), which is faster than the default, -1.
    """

    name = NAME
    batches: tuple[int, ...] = (1, 4, 10)
    usual_beams = Beams()
    # Wide fast tracks like those of our ladder: at equal error, its best settings count.
    ladder: tuple[str, ...] = (
        "10/2/2", "25/3/3", "50/5/1", "50/5/5", "100/10/1", "100/10/10", "200/20/20", "400/40/40"
    )  # fmt: skip
    # With fast track, it admits the best word only if no word is in the action beam; we always do.
    same_beams = Beams(fast_track=0)
    same_search = WordSync(fast_track=0, stop="beam_full")

    def __init__(
        self,
        checkout: Path,
        network: RnngNetwork,
        vocabulary: Vocabulary,
        *,
        is_aligned: bool = False,
        stack_bound: int = 100,
    ) -> None:
        require_same_model(network)
        models, actions = imported(checkout)
        base = models.FixedStackRNNG
        made = (aligned(base, network.action_norm) if is_aligned else base)(
            actions.TopDownActionDict(list(vocabulary.labels)),
            vocab=len(vocabulary),
            padding_idx=PAD_ID,
            w_dim=network.word_embedding.embedding_dim,
            h_dim=network.to_output.in_features,
            num_layers=len(network.stack.input),
        )
        if network.word_output.linear.weight is not network.word_embedding.weight:
            made.vocab_mlp.weight = torch.nn.Parameter(network.word_output.linear.weight.clone())
        made.load_state_dict(peer_weights(network))
        self._model = made.eval().to(network.start.dtype)
        self._vocabulary = vocabulary
        self._stack_bound = stack_bound

    @property
    def states(self) -> int | None:
        """See :class:`benchmarks.peer_beams.Peer`; counted if aligned."""
        return getattr(self._model, "states", None)

    def log_probs(
        self, sentences: Sequence[Words], beams: Beams, *, batch: int = 1
    ) -> list[list[float]]:
        """Return the log probabilities (nats) of the words of sentences and, last, of the ends."""
        split = encode_sentences(sentences, self._vocabulary, None)
        # Like the checkout, with sentences of similar length in a batch.
        order = sorted(range(len(sentences)), key=lambda number: len(sentences[number]))
        found: dict[int, list[float]] = {}
        with torch.no_grad():
            for begin in range(0, len(order), batch):
                members = order[begin : begin + batch]
                tokens = [torch.from_numpy(split.sentence(number)).long() for number in members]
                found.update(zip(members, self._batch(tokens, beams), strict=True))
        return [found[number] for number in range(len(sentences))]

    def _batch(self, tokens: list[Tensor], beams: Beams) -> list[list[float]]:
        padded = torch.nn.utils.rnn.pad_sequence(tokens, batch_first=True, padding_value=PAD_ID)
        parses, surprisals = self._model.word_sync_beam_search(
            padded, torch.ones_like(padded), beams.action_beam, beams.word_beam, beams.fast_track,
            stack_size_bound=self._stack_bound,
        )  # fmt: skip
        found = []
        for survivors, words in zip(parses, surprisals, strict=True):
            log_probs = [-float(surprisal) for surprisal in words]
            joint = torch.tensor([score for _, score in survivors]).logsumexp(0)
            found.append([*log_probs, float(joint) - sum(log_probs)])
        return found


def imported(checkout: Path) -> tuple[Any, Any]:
    """Import the modules of models and of actions from a checkout."""
    if not (checkout / "fixed_stack_models.py").is_file():
        raise GardenpathError(
            f"{checkout}: is not a checkout of rnng-pytorch: there is no fixed_stack_models.py; "
            "give the folder with --peer"
        )
    for name in _MODULES:
        sys.modules.pop(name, None)
    sys.path.insert(0, str(checkout))
    try:
        models = importlib.import_module("fixed_stack_models")
        return models, importlib.import_module("action_dict")
    finally:
        sys.path.remove(str(checkout))


def require_same_model(network: RnngNetwork) -> None:
    """Raise an error if rnng-pytorch has no such model, or one with other weights."""
    if network.strategy != "top_down" or not isinstance(network.composition, LstmComposition):
        raise GardenpathError(
            "only top-down RNNGs with LSTM composition are compared with rnng-pytorch: use a run "
            "with model.network.strategy=top_down and model.network.composition=lstm"
        )
    if network.piece_bias is not None:
        raise GardenpathError("rnng-pytorch has no piece rules: use a run without data.subwords")


def peer_weights(network: RnngNetwork) -> dict[str, Tensor]:
    """Return the weights of a network under the names of ``FixedStackRNNG``.

    Gates are in the same order. Their LSTMs have two biases, of which the second is zero here;
    their first action is padding; and words that never come next get a bias of ``-inf``.
    """
    composition, output = network.composition, network.word_output
    assert isinstance(composition, LstmComposition)
    actions = network.action_output
    no_action = torch.zeros_like(actions.weight[:1])
    found = {
        "emb.0.weight": network.word_embedding.weight,
        "rnng.nt_emb.0.weight": network.label_embedding.weight,
        "rnng.initial_emb.0.weight": network.start.unsqueeze(0),
        "rnng.output.1.weight": network.to_output.weight,
        "rnng.output.1.bias": network.to_output.bias,
        "rnng.composition.output.1.weight": composition.output.weight,
        "rnng.composition.output.1.bias": composition.output.bias,
        "action_mlp.weight": torch.cat([no_action, actions.weight]),
        "action_mlp.bias": torch.cat([torch.zeros_like(actions.bias[:1]), actions.bias]),
        "vocab_mlp.weight": output.linear.weight,
        "vocab_mlp.bias": output.linear.bias + output.excluded,
    }
    stack = zip(network.stack.input, network.stack.recurrent, network.stack.bias, strict=True)
    for layer, (into, recurrent, bias) in enumerate(stack):
        found |= _lstm(f"rnng.stack_rnn.lstm.{layer}", "", into, recurrent, bias)
    ahead = composition.forward_input, composition.forward_recurrent, composition.forward_bias
    back = composition.backward_input, composition.backward_recurrent, composition.backward_bias
    found |= _lstm("rnng.composition.rnn", "_l0", *ahead)
    found |= _lstm("rnng.composition.rnn", "_l0_reverse", *back)
    return {name: weight.detach().clone() for name, weight in found.items()}


def _lstm(name: str, suffix: str, into: Tensor, recurrent: Tensor, bias: Tensor) -> dict[str, Any]:
    return {
        f"{name}.weight_ih{suffix}": into,
        f"{name}.weight_hh{suffix}": recurrent,
        f"{name}.bias_ih{suffix}": bias,
        f"{name}.bias_hh{suffix}": torch.zeros_like(bias),
    }


def aligned(base: Any, action_norm: str) -> Any:
    """Return a subclass of ``FixedStackRNNG`` whose probabilities are normalised like ours."""

    class Aligned(base):  # type: ignore[misc]
        states = 0

        def invalid_action_mask(self, beam: Any, *others: Any) -> Any:
            self.never = never_next(
                beam.nopen_parens, beam.prev_actions(), self.num_actions, action_norm
            )
            return super().invalid_action_mask(beam, *others)

        def action_log_probs(self, stack: Any, invalid: Tensor, next_x: Any = None) -> Tensor:
            self.states += int((~invalid).any(-1).sum())
            log_probs: Tensor = super().action_log_probs(stack, self.never, next_x)
            return log_probs.masked_fill(invalid, -torch.inf)

    return Aligned


def never_next(depth: Tensor, last: Tensor, actions: int, action_norm: str) -> Tensor:
    """``(…, actions)``: actions (padding, SHIFT, REDUCE, NT) outside our normalisation."""
    action = torch.arange(actions)
    never = (action == 0).expand(*depth.shape, actions)
    if action_norm == "full":
        return never
    nothing_open = (depth == 0).unsqueeze(-1) & (action < 3)
    is_empty = (last >= 3).unsqueeze(-1) & (action == 2)
    return never | nothing_open | is_empty
