"""The Transformer of a run as a GPT-2 of the library transformers, with the same numbers.

GPT-2 normalises over all tokens, and its output layer has no bias; here, padding and the begin
symbol never come next (:class:`NextToken`). They get a probability of zero by an exact
reformulation of the same function, in a space that is a little wider:

- Layers read the residual stream x (n wide) only through layer norms, which subtract its mean. So
  everything that is added to x may be centred, and then its mean is zero.
- Two coordinates are added, c and -c, the same at every position. The mean remains zero, and the
  sum of squares grows by 2c². This takes the place of a part of the norms' ε: with n' coordinates,
  (|x|² + 2c²) / n' + ε' = (|x|² + nε) / n' if ε' = (nε - 2c²) / n'. The norms divide by the same
  number as before, up to the factor √(n'/n), which their weights take back.
- After the last norm, the first new coordinate is positive everywhere. The output rows of the
  excluded tokens are a large negative multiple of it, and nothing else.

Heads become wider by as much as is needed for n' to be a multiple of their number; the new
coordinates of queries, keys and values are zero, and the queries take back the other scale of the
attention. Everything is computed in float64 and then rounded.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from gardenpath.data.words.vocabulary import BEGIN_ID, END_ID, PAD_ID
from gardenpath.models.sequential.transformer import Block, TransformerNetwork
from gardenpath.models.sequential.transformer_family import DecoderSettings

# Symbols that never come next.
EXCLUDED_IDS = (PAD_ID, BEGIN_ID)

# The excluded tokens' logits are less than -1e9, even if states are a million times the usual.
_EXCLUDING = -1e15


class Gpt2Weights:
    """The weights and the configuration of a GPT-2 that computes what a network computes."""

    def __init__(self, network: TransformerNetwork, settings: DecoderSettings) -> None:
        self._network = network
        self._settings = settings
        shape = settings.shape
        self._old, self._heads = shape.hidden, shape.heads
        # At least two more coordinates, and as many more for each head.
        self._new = self._old + self._heads * math.ceil(2 / self._heads)
        self._eps = float(network.decoder.final_norm.eps)
        # Half of ε becomes the two constant coordinates.
        self._constant = math.sqrt(self._old * self._eps / 4)

    def config(self) -> dict[str, Any]:
        """Return the values of a ``GPT2Config``."""
        settings, vocabulary_size = self._settings, len(self._network.output.linear.weight)
        return {
            "vocab_size": vocabulary_size,
            "n_positions": settings.max_positions,
            "n_embd": self._new,
            "n_inner": 4 * self._old,
            "n_layer": settings.shape.layers,
            "n_head": self._heads,
            "activation_function": "gelu_new",
            "layer_norm_epsilon": self._old * self._eps / 2 / self._new,
            "tie_word_embeddings": False,
            "embd_pdrop": settings.dropout,
            "attn_pdrop": settings.dropout,
            "resid_pdrop": settings.dropout,
            "bos_token_id": BEGIN_ID,
            "eos_token_id": END_ID,
            "pad_token_id": PAD_ID,
        }

    def state(self) -> dict[str, Tensor]:
        """Return the weights of a ``GPT2LMHeadModel``, in float64."""
        decoder = self._network.decoder
        tokens = self._wider(_centred(decoder.token_embedding.weight.double()))
        tokens[:, self._old], tokens[:, self._old + 1] = self._constant, -self._constant
        found = {
            "transformer.wte.weight": tokens,
            "transformer.wpe.weight": self._wider(
                _centred(decoder.position_embedding.weight.double())
            ),
            **self._norm("transformer.ln_f", decoder.final_norm),
            "lm_head.weight": self._wider(self._network.output.linear.weight.double()),
        }
        found["transformer.ln_f.weight"][self._old] = 1.0
        for number in EXCLUDED_IDS:
            found["lm_head.weight"][number] = 0.0
            found["lm_head.weight"][number, self._old] = _EXCLUDING
        for number, block in enumerate(decoder.blocks):
            assert isinstance(block, Block)
            found |= self._block(f"transformer.h.{number}", block)
        return {name: weight.detach().contiguous() for name, weight in found.items()}

    def _block(self, name: str, block: Block) -> dict[str, Tensor]:
        """Return the weights of a block; GPT-2's matrices have one row for each input."""
        attention = block.attention
        return {
            **self._norm(f"{name}.ln_1", block.attention_norm),
            f"{name}.attn.c_attn.weight": self._attending(
                self._wider(attention.query_key_value.weight.double())
            ).T,
            f"{name}.attn.c_attn.bias": self._attending(
                attention.query_key_value.bias.double().unsqueeze(1)
            ).squeeze(1),
            f"{name}.attn.c_proj.weight": self._wider(
                self._in_heads(_centred(attention.project.weight.double().T))
            ),
            f"{name}.attn.c_proj.bias": self._wider(_centred(attention.project.bias.double())),
            **self._norm(f"{name}.ln_2", block.feed_forward_norm),
            f"{name}.mlp.c_fc.weight": self._wider(block.expand.weight.double()).T,
            f"{name}.mlp.c_fc.bias": block.expand.bias.double(),
            f"{name}.mlp.c_proj.weight": self._wider(_centred(block.contract.weight.double().T)),
            f"{name}.mlp.c_proj.bias": self._wider(_centred(block.contract.bias.double())),
        }

    def _norm(self, name: str, norm: torch.nn.LayerNorm) -> dict[str, Tensor]:
        scale = math.sqrt(self._old / self._new)
        return {
            f"{name}.weight": self._wider(norm.weight.double() * scale),
            f"{name}.bias": self._wider(norm.bias.double()),
        }

    def _attending(self, rows: Tensor) -> Tensor:
        """Widen the heads of queries, keys and values, given as rows; scale the queries."""
        query, key, value = (self._in_heads(part) for part in rows.chunk(3))
        return torch.cat([query * math.sqrt(self._new / self._old), key, value])

    def _in_heads(self, rows: Tensor) -> Tensor:
        """Add rows of zeros at the end of each head."""
        old = rows.unflatten(0, (self._heads, self._old // self._heads))
        new = rows.new_zeros(self._heads, self._new // self._heads, *rows.shape[1:])
        new[:, : old.shape[1]] = old
        return new.flatten(0, 1)

    def _wider(self, values: Tensor) -> Tensor:
        """Add zeros for the new coordinates, to the last dimension."""
        result = values.new_zeros(*values.shape[:-1], self._new)
        result[..., : self._old] = values
        return result


def _centred(values: Tensor) -> Tensor:
    """Subtract means over the last dimension."""
    return values - values.mean(dim=-1, keepdim=True)
