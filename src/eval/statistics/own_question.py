"""The analysis of a user's formula, as in ``formula="local_bits ~ filler * gap + (1 | item)"``.

The response says which table is analysed. Factors of text have treatment coding, as in R, so that
the interaction of two factors of two levels is the difference of differences in bits. Each suite,
corpus and model is analysed separately, unless the formula names it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gardenpath.errors import GardenpathError
from gardenpath.eval.statistics.formulas.model_formula_parser import parse_model_formula
from gardenpath.eval.statistics.questions.analysis import ANY_EFFECT, Analysis, TableName
from gardenpath.eval.statistics.statistics_error import StatisticsError
from gardenpath.settings.check import nearest
from gardenpath.text import enumeration

# The settings need this module; they load quickly without pandas.
if TYPE_CHECKING:
    import pandas as pd

# Name of the files of the analysis.
OWN_QUESTION = "own"

# The numbers that can be explained, and the tables that have them.
_TABLES: Mapping[str, TableName] = {
    "local_bits": "sentences",
    "global_bits_per_word": "sentences",
    "slor": "sentences",
    "difference_bits": "items",
    "outcome": "items",
    "value_bits": "effects",
}
_APART = ("suite", "corpus", "model")


def formula_mistake(formula: str) -> str:
    """Return what is wrong with a formula, as far as that shows without data; else nothing."""
    try:
        response = parse_model_formula(formula).response
    except StatisticsError as error:
        return str(error)
    if response not in _TABLES:
        return f"the response {response!r} is unknown; {nearest(response, _TABLES)}"
    return ""


def own_analysis(formula: str, tables: Mapping[str, pd.DataFrame | None]) -> Analysis:
    """Return the analysis of a formula; its columns must be in the table of its response."""
    parsed = parse_model_formula(formula)
    name = _TABLES[parsed.response]
    table = tables[name]
    columns = [] if table is None else list(table.columns)
    if missing := [one for one in parsed.variables if one not in columns]:
        remedy = nearest(missing[0], [one for one in columns if not one.startswith("_")])
        if name != "sentences":
            remedy += "; factors of conditions are columns of sentences: local_bits ~ …"
        problem = f"the table of {name} has no column {enumeration(missing)}"
        raise GardenpathError(f"formula={formula}: {problem} ({remedy})")
    split = [one for one in _APART if one not in parsed.variables]
    said = {"model": " for $model", "corpus": ", trained on $corpus", "suite": " ($suite)"}
    whose = "".join(text for one, text in said.items() if one in split)
    return Analysis(
        name=OWN_QUESTION,
        title=formula,
        table=name,
        formula=formula,
        family="binomial" if parsed.response == "outcome" else "gaussian",
        split=split,
        sentences={
            ANY_EFFECT: {
                "more": f"$effect raises {parsed.response}{whose}",
                "less": f"$effect lowers {parsed.response}{whose}",
                "none": f"no effect of $effect on {parsed.response} could be shown{whose}",
            }
        },
    )
