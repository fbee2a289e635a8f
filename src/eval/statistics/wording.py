"""Names, numbers and sentences in the style of a paper.

Analyses, studies and reports word their results with these functions, so that a p value or a model
is written alike everywhere. ``ALPHA`` is the level of significance. No table is read here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from string import Template

from gardenpath.eval.display import FAMILY_NAMES

_NAMES = {
    **FAMILY_NAMES,
    "classifier_noun": "classifier-noun",
    "verb_noun": "verb-noun",
    "ctb": "CTB",
    "ptb": "PTB",
    "xinhua": "Xinhua",
    "wh_effect_gap": "wh-effect with a gap",
    "wh_effect_nogap": "wh-effect without a gap",
    "comp_quant": "comparison of quantities",
    "embwhq": "embedded question",
    "topic": "topicalisation",
    "object_rc": "object RC",
    "subject_rc": "subject RC",
    "coordinated_rc": "coordinated RCs",
    "embedded_rc": "embedded RCs",
    "cleft_adj": "cleft with adjective",
    "cleft_noun": "cleft with noun",
    "tough": "tough-movement",
    "complex_np": "complex NP",
    "over_complex_np": "past a complex NP",
    "over_adjunct": "past an adjunct",
    "cnp_discharge": "complex NP discharge",
    "local_bits": "local surprisal",
    "global_bits_per_word": "global surprisal",
    "slor": "SLOR",
    "": "none",
}

ALPHA = 0.05


def is_significant(p: float) -> bool:
    """Whether a p value is below ``ALPHA``; a missing one is not."""
    return p < ALPHA


def corpus_name(value: object) -> str:
    """Format the name of a training corpus, which surprisals from files may lack."""
    return prose_name(value) if str(value) else "an unnamed corpus"


def prose_name(value: object) -> str:
    """Format a table value for prose: ``rnng`` as RNNG, ``missing_object`` as missing object.

    What follows a name in parentheses, such as settings of a model, stays as it is.
    """
    text, bracket, more = str(value).partition(" (")
    return _NAMES.get(text.lower(), text.replace("_", " ")) + bracket + more


def rounded(value: float) -> str:
    """Format a number with two decimals, or with three if its absolute value is below 0.1."""
    if not math.isfinite(value):
        return "undefined"
    text = f"{value:.2f}" if abs(value) >= 0.1 or value == 0.0 else f"{value:.3f}"
    # No minus sign if the number is rounded to zero.
    return text.removeprefix("-") if float(text) == 0.0 else text.replace("-", "−")


def p_value(value: float) -> str:
    """Format a p value without the leading zero, as ``p = .010`` or ``p < .001``."""
    if not math.isfinite(value):
        return "p undefined"
    if value < 0.001:
        return "p < .001"
    if value > 0.9995:
        return "p > .999"
    # One more digit where three do not tell on which side of ALPHA the value is.
    digits = 4 if f"{value:.3f}" == f"{ALPHA:.3f}" else 3
    return f"p = {value:.{digits}f}".replace("0.", ".", 1)


def coefficient(estimate: float, error: float, statistic: float, df: float | None, p: float) -> str:
    """Format ``b = 0.51, SE 0.20, z = 2.57, p = .010``; t instead of z if ``df`` is given."""
    test = f"z = {rounded(statistic)}" if df is None else f"t({df:.1f}) = {rounded(statistic)}"
    return f"b = {rounded(estimate)}, SE {rounded(error)}, {test}, {p_value(p)}"


def stated(
    cases: Mapping[str, str],
    values: Mapping[str, str],
    *,
    estimate: float,
    p: float,
    numbers: Sequence[str],
) -> str:
    """Fill in the template that matches an estimate, and append the numbers.

    Without a matching template, the sentence says that there is no evidence for ``more``.
    """
    is_shown = is_significant(p) and math.isfinite(estimate)
    direction = "more" if estimate > 0 else "less"
    case = direction if is_shown else "none"
    template = cases.get(case) or f"No evidence that {cases.get('more', '')}"
    filled = Template(template).safe_substitute(values).strip()
    return f"{filled[:1].upper()}{filled[1:]}: {'; '.join(numbers)}"


def undecided(
    cases: Mapping[str, str], values: Mapping[str, str], *, numbers: Sequence[str]
) -> str:
    """Return the sentence for an effect without a test: the question and the numbers."""
    claim = cases.get("more") or cases.get("less") or "there is an effect"
    filled = Template(claim).safe_substitute(values).strip()
    return f"The analysis cannot determine whether {filled}: {'; '.join(numbers)}"


def counts(groups: Sequence[tuple[str, float, int]]) -> str:
    """Format names, sums and totals: ``right in all 30 comparisons (LSTM), in 23 of 30 (RNNG)``."""
    texts = []
    for place, (name, right, total) in enumerate(groups):
        share = "all" if right == total else f"{'none' if right == 0 else f'{right:.4g}'} of"
        before, after = ("right ", " comparisons") if place == 0 else ("", "")
        texts.append(f"{before}in {share} {total}{after} ({name})")
    return ", ".join(texts)


def stated_means(groups: Sequence[tuple[str, float]]) -> str:
    """Format names and means: ``mean 0.41 (CTB), 0.52 (xinhua)``."""
    return "mean " + ", ".join(f"{rounded(mean)} ({name})" for name, mean in groups)


def joined_names(names: Sequence[str]) -> str:
    """Join names: ``item``, ``item and seed``, ``item, modifier and seed``."""
    words = [prose_name(name) for name in names]
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))
