"""Names of the forms in which surprisals and results are read and written.

``table``
    One row per word, in columns that are recognised by their names, as ``task=surprisal`` and many
    programs write them.
``lm_zoo``
    LM Zoo's table: ``sentence_id token_id token surprisal``, separated by tabs, in bits.
``minicons``
    Lists ``(token, score)`` of minicons as JSON, or its tables with a column of scores.
``lm_eval``
    Samples of lm-evaluation-harness: one log likelihood per sentence.
``vllm``
    Prompt log probabilities of vLLM.
``openai``
    Completions with ``echo`` and ``logprobs``, as OpenAI's and compatible servers return them.
``syntaxgym``
    Results of SyntaxGym: one number per region.
"""

from __future__ import annotations

from typing import Literal

# Forms of files of surprisals; auto recognises them by their content.
SurprisalForm = Literal[
    "auto", "table", "lm_zoo", "minicons", "lm_eval", "vllm", "openai", "syntaxgym"
]

# Unit of the numbers in a file: surprisals, or log probabilities to the base e, 2 or 10.
Unit = Literal["bits", "nats", "log10", "log_prob_nats", "log_prob_bits", "log_prob_log10"]

# Columns of the table of task=surprisal: ours, or those of LM Zoo.
TableForm = Literal["own", "lm_zoo"]

# Columns of tables of surprisals: also what a search knows about each word, or the surprisal only.
TableColumns = Literal["all", "surprisal"]

# Forms in which results on suites are also written.
ResultForm = Literal["syntaxgym", "babylm"]
