"""One answer from all models: the log probability of each word of a sentence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from src.data.batches import BatchSettings, plan_batches, token_batch
from src.data.encoded import EncodedSplit, encode_sentences
from src.data.subwords import Subwords
from src.data.vocabulary import Vocabulary
from src.errors import RunError
from src.models.ngram import NgramModel
from src.models.output import SequentialNetwork
from src.models.run_folder import RunFolder

Floats = npt.NDArray[np.float64]

_BATCHES = BatchSettings(max_tokens=8192, max_sentences=256)


class SequentialScorer:
    """Scores words with a model that reads tokens from left to right."""

    def __init__(
        self,
        *,
        model: SequentialNetwork | NgramModel,
        vocabulary: Vocabulary,
        subwords: Subwords | None = None,
        device: torch.device | str = "cpu",
    ) -> None:
        self._model = model.to(device).eval() if isinstance(model, nn.Module) else model
        self._vocabulary = vocabulary
        self._subwords = subwords
        self._device = device

    @staticmethod
    def load(run: RunFolder, *, device: torch.device | str = "cpu") -> SequentialScorer:
        """The model of a run folder, which must be one that reads from left to right."""
        model = run.load_model()
        if not isinstance(model, SequentialNetwork | NgramModel):
            raise RunError(
                f"{run.path}: this model predicts trees, and needs a search to score words"
            )
        return SequentialScorer(
            model=model,
            vocabulary=run.vocabulary(),
            subwords=run.subwords(),
            device=device,
        )

    def word_log_probs(self, sentences: Sequence[Sequence[str]]) -> list[Floats]:
        """For each sentence, the log probability (nats) of each word and, last, of its end.

        The log probability of a word is the sum over its pieces.
        """
        if not sentences:
            return []
        split = encode_sentences(sentences, self._vocabulary, self._subwords)
        per_token = self._token_log_probs(split)
        results = []
        for number, scores in enumerate(per_token):
            begin, end = split.offsets[number], split.offsets[number + 1]
            starts = np.flatnonzero(np.append(split.starts_word[begin:end], True))
            results.append(np.add.reduceat(scores, starts))
        return results

    def _token_log_probs(self, split: EncodedSplit) -> list[Floats]:
        model = self._model
        if isinstance(model, NgramModel):
            return model.score(
                [split.sentence(number).astype(np.int64) for number in range(len(split))]
            )
        results: list[Floats] = [np.zeros(0)] * len(split)
        with torch.inference_mode():
            for members in plan_batches(split.lengths, _BATCHES, shuffle_seed=None):
                batch = token_batch(split, members).to(self._device)
                scores = model.log_prob(batch).double().cpu().numpy()
                for row, number in enumerate(members.tolist()):
                    results[number] = scores[row, : split.lengths[number] + 1]
        return results
