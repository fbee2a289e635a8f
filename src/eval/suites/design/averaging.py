"""Conversion of suites with several variants per condition to suites with one variant each.

Formulas have no division, so means are compared as sums: with two variants of ``a`` and three of
``b``, ``a > b`` becomes three times the sum over ``a`` against twice the sum over ``b``.
"""

from __future__ import annotations

import math
from dataclasses import replace

from gardenpath.eval.suites.design.formula import Arithmetic, Formula, Number, Term, Value
from gardenpath.eval.suites.design.suite import Item, Prediction, Suite, SuiteError, Variant


def with_single_variants(suite: Suite) -> Suite:
    """Return the suite with conditions ``a_1``, ``a_2`` instead of two variants of ``a``.

    Predictions are true in the new suite if and only if they are true in the old one; quantities
    are multiplied by the least common multiple of the numbers of variants.
    """
    counts = {condition: _count(suite, condition) for condition in suite.conditions}
    if all(count == 1 for count in counts.values()):
        return suite
    names = {
        condition: [condition if n == 1 else f"{condition}_{k}" for k in range(1, n + 1)]
        for condition, n in counts.items()
    }
    conditions = tuple(name for group in names.values() for name in group)
    if len(set(conditions)) < len(conditions):
        raise SuiteError(
            f"{suite.name}: the names of numbered variants clash with those of other conditions"
        )
    predictions = tuple(
        Prediction(one.name, _with_sums(one.formula, names)) for one in suite.predictions
    )
    items = tuple(_renamed(item, names) for item in suite.items)
    return replace(suite, conditions=conditions, predictions=predictions, items=items)


def _count(suite: Suite, condition: str) -> int:
    counts = {len(found) for item in suite.items if (found := item.of_condition(condition))}
    if len(counts) > 1:
        raise SuiteError(
            f"{suite.name}: items have {' or '.join(map(str, sorted(counts)))} variants of "
            f"{condition!r}; means can be written as sums only if all items have equally many"
        )
    return counts.pop() if counts else 1


def _renamed(item: Item, names: dict[str, list[str]]) -> Item:
    rest = {condition: iter(group) for condition, group in names.items()}
    variants = tuple(Variant(next(rest[v.condition]), v.regions) for v in item.variants)
    return replace(item, variants=variants)


def _with_sums(formula: Formula, names: dict[str, list[str]]) -> Formula:
    used = {term.condition for term in formula.terms if term.condition in names}
    factor = math.lcm(*(len(names[condition]) for condition in used))

    def change(leaf: Term | Number) -> Value:
        if isinstance(leaf, Number):
            return Number(leaf.value * factor)
        group = names.get(leaf.condition, [leaf.condition])
        terms = [Term(leaf.region, name) for name in group] * (factor // len(group))
        total: Value = terms[0]
        for term in terms[1:]:
            total = Arithmetic(total, "+", term)
        return total

    return formula.replace(change)
