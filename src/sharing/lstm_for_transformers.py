"""An LSTM language model of Gardenpath as a model of the library transformers.

This file needs torch and transformers only. It is part of every folder to which an LSTM was
written, because transformers has no LSTM of its own. With the file at hand,

    from modeling_gardenpath_lstm import GardenpathLstmForCausalLM
    model = GardenpathLstmForCausalLM.from_pretrained(folder)

or, if you trust the folder's code, ``AutoModelForCausalLM.from_pretrained(folder,
trust_remote_code=True)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutput


class GardenpathLstmConfig(PretrainedConfig):  # type: ignore[misc]
    """Sizes of the network; ``never_next`` are the tokens that have no probability."""

    model_type = "gardenpath_lstm"

    def __init__(
        self,
        vocab_size: int = 4,
        embedding_size: int = 1,
        hidden_size: int = 1,
        num_hidden_layers: int = 1,
        never_next: Sequence[int] = (0, 1),
        **others: Any,
    ) -> None:
        self.vocab_size = vocab_size
        self.embedding_size = embedding_size
        self.hidden_size = hidden_size
        self.num_hidden_layers = num_hidden_layers
        self.never_next = list(never_next)
        super().__init__(**{"tie_word_embeddings": False, **others})


class GardenpathLstmForCausalLM(PreTrainedModel):  # type: ignore[misc]
    """Embedding, LSTM layers and softmax; each row of tokens starts from a zero state."""

    config_class = GardenpathLstmConfig

    def __init__(self, config: GardenpathLstmConfig) -> None:
        super().__init__(config)
        self.embedding = nn.Embedding(config.vocab_size, config.embedding_size)
        self.lstm = nn.LSTM(
            config.embedding_size,
            config.hidden_size,
            num_layers=config.num_hidden_layers,
            batch_first=True,
        )
        self.output = nn.Linear(config.hidden_size, config.vocab_size)
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        """Return the embedding of tokens."""
        return self.embedding

    def get_output_embeddings(self) -> nn.Module:
        """Return the output layer."""
        return self.output

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        labels: Tensor | None = None,
        **_: Any,
    ) -> CausalLMOutput:
        """Return logits of the next tokens and, with ``labels``, the mean loss; -100 is ignored.

        Padding must be on the right, where it has no effect on what comes before it.
        """
        if attention_mask is not None and bool((attention_mask.diff(dim=1) > 0).any()):
            raise ValueError("pad on the right: an LSTM reads what is on the left")
        states, _states = self.lstm(self.embedding(input_ids))
        logits = self.output(states)
        logits[..., self.config.never_next] = -torch.inf
        loss = None
        if labels is not None:
            loss = nn.functional.cross_entropy(
                logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten()
            )
        return CausalLMOutput(loss=loss, logits=logits)
