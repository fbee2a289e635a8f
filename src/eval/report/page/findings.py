"""Analyses in words and numbers: what was found first, all else folded away."""

from __future__ import annotations

from collections.abc import Sequence

from gardenpath.eval.report.page.html_tables import ReportTable, table_html
from gardenpath.eval.report.page.markup import Html, element, join, unbroken
from gardenpath.eval.report.study import Analysis


def analysis_html(analysis: Analysis, number: int, figures: Html) -> Html:
    """An analysis: how often the answer is yes, where it is, a figure, and the numbers."""
    found, others = analysis.told()
    if len(analysis.sentences) == 1:
        # A single answer is shown, whatever it is.
        found, others = [*found, *others], []
    tables = [
        ReportTable(name=f"analysis-{number}-{place}", title=title, frame=frame)
        for place, (title, frame) in enumerate(analysis.tables.items())
    ]
    numbers = join(table_html(table) for table in tables if len(table.frame))
    return element(
        "section",
        element("h3", analysis.title),
        element("p", unbroken(analysis.count), class_="count") if analysis.count else "",
        _list(found),
        _fold(_no_difference(len(others), bool(found)), _list(others)) if others else "",
        _fold(_not_answered(len(analysis.skipped)), _list(analysis.skipped))
        if analysis.skipped
        else "",
        figures,
        _fold("Numbers", numbers) if numbers else "",
        class_="analysis",
    )


def _list(sentences: Sequence[str]) -> Html:
    items = [element("li", unbroken(sentence)) for sentence in sentences]
    return element("ul", *items, class_="sentences") if items else Html("")


def _fold(title: str, content: Html) -> Html:
    return element("details", element("summary", title), content)


def _no_difference(count: int, is_beside_others: bool) -> str:
    other = "other " if is_beside_others else ""
    return f"No difference could be shown in {count} {other}comparison{'s' * (count != 1)}"


def _not_answered(count: int) -> str:
    return f"Not answered in {count} case{'s' * (count != 1)}"
