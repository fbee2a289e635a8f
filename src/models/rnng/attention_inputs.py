"""All tensors from which the states of an RNNG with gated attention are computed.

They are put in a row for :class:`torch.autograd.Function`, and in their places again.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from torch import Tensor

from gardenpath.models.rnng.attention_cells import AttentionMasks, AttentionWeights, Prepared


class Projected(NamedTuple):
    """Input projections with bias of what is known beforehand.

    ``stack``: words, labels and the start; ``forward`` and ``backward``: words.
    """

    stack: Tensor
    forward: Tensor
    backward: Tensor


class ReaderWeights(NamedTuple):
    """Weights of an LSTM that reads vectors: the lowest layer of the stack, or a chain."""

    inputs: Tensor
    bias: Tensor
    recurrent: Tensor


class UpperLayer(NamedTuple):
    """Weights of a layer of the stack that reads another, and the dropout mask of what it reads."""

    inputs: Tensor
    bias: Tensor
    recurrent: Tensor
    mask: Tensor | None


class AttentionInputs(NamedTuple):
    """All tensors that are needed to compute states."""

    projected: Projected
    prepared: Prepared
    masks: AttentionMasks
    attention: AttentionWeights
    stack: ReaderWeights
    forward: ReaderWeights
    backward: ReaderWeights
    upper: tuple[UpperLayer, ...]

    def tensors(self) -> tuple[Tensor | None, ...]:
        """Return all tensors in a row."""
        parts = (*self[:-1], *self.upper)
        return tuple(tensor for part in parts for tensor in part)

    def by_column(self) -> AttentionInputs:
        """Store weights by column: they are multiplied with few rows at a time, from the right."""

        def changed(part: Any, *names: str) -> Any:
            weights = {name: getattr(part, name).t().contiguous().t() for name in names}
            return part._replace(**weights)

        readers = {
            name: changed(getattr(self, name), "inputs", "recurrent")
            for name in ("stack", "forward", "backward")
        }
        return self._replace(
            attention=changed(self.attention, "to_state", "gate", "output"),
            upper=tuple(changed(layer, "inputs", "recurrent") for layer in self.upper),
            **readers,
        )

    @classmethod
    def of(cls, tensors: tuple[Any, ...]) -> AttentionInputs:
        """Put tensors in a row in their places again."""
        rest = iter(tensors)

        def take(kind: Any) -> Any:
            return kind(*(next(rest) for _ in kind._fields))

        parts = {name: take(kind) for name, kind in _PARTS.items()}
        used = sum(len(part) for part in parts.values())
        layers = (len(tensors) - used) // len(UpperLayer._fields)
        return cls(**parts, upper=tuple(take(UpperLayer) for _ in range(layers)))


_PARTS: dict[str, Any] = {
    "projected": Projected,
    "prepared": Prepared,
    "masks": AttentionMasks,
    "attention": AttentionWeights,
    "stack": ReaderWeights,
    "forward": ReaderWeights,
    "backward": ReaderWeights,
}
"""The kinds of all parts of a computation but the upper layers, in their order."""
