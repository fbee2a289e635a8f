"""Tables for the terminal that fit its width without breaking inside words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rich.box import HEAVY_HEAD, Box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Column, Row, Table
from rich.text import Text

# Where a line may end: at blanks, after the slashes and underscores of names, after hyphens between
# letters, and between Chinese characters.
_BREAKS = re.compile(
    r"(?<=\s)(?=\S)|(?<=\w[/_])(?=\w)|(?<=[^\W\d_]{2}-)(?=[^\W\d_]{2})"
    r"|(?<=[\u3000-\u9fff])(?=[\u4e00-\u9fff])"
)


class FittedTable(Table):
    """A table that fits the terminal; all cells are plain text, not markup.

    If the columns are too wide together, lines end between words, first in headings, then in cells.
    If that is not enough, columns that are not ``needed`` are left out from the right, and the
    caption names them and the file ``elsewhere`` that has them. The columns that still do not fit
    follow in another table, after the first ``keys`` columns again.
    """

    def __init__(
        self,
        title: str = "",
        caption: str = "",
        *,
        box: Box | None = HEAVY_HEAD,
        keys: int = 1,
        elsewhere: str = "",
    ) -> None:
        is_open = box is not None and not box.mid_left.strip()
        super().__init__(box=box, padding=(0, 1, 0, 0) if is_open else (0, 1), pad_edge=not is_open)
        self.heading, self.note = title, caption
        self.keys, self.elsewhere = keys, elsewhere
        self._dropped_first: list[int] = []

    def column(self, heading: str, *, right: bool = False, needed: bool = True) -> None:
        """Add a column; one that is not ``needed`` may be left out."""
        if not needed:
            self._dropped_first.insert(0, len(self.columns))
        self.add_column(heading, justify="right" if right else "left")

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the title, as many tables as needed, and the caption."""
        width = options.max_width
        kept, dropped = self._kept(width)
        if self.heading:
            yield from _lines(self.heading, width, style="italic")
        for shown in self._parts(kept, width):
            made = self._made(shown, self._widths(shown, width))
            yield from Table.__rich_console__(made, console, options)
        for note in filter(None, (*self.note.split("\n"), self._said(dropped))):
            yield from _lines(note, width, style="dim")

    def _said(self, dropped: Sequence[int]) -> str:
        if not dropped:
            return ""
        names = ", ".join(_plain(self.columns[place].header) for place in sorted(dropped))
        where = f"; {self.elsewhere} has all columns" if self.elsewhere else ""
        return f"not shown, for lack of width: {names}{where}"

    def _kept(self, width: int) -> tuple[list[int], list[int]]:
        """Return the columns to show, and those to leave out."""
        kept, dropped = list(range(len(self.columns))), []
        for place in self._dropped_first:
            if sum(map(self._least, kept)) + self._around(len(kept)) <= width:
                break
            kept.remove(place)
            dropped.append(place)
        return kept, dropped

    def _parts(self, kept: Sequence[int], width: int) -> Iterator[list[int]]:
        """Yield the columns of each table: the keys, and as many others as fit."""
        keys = list(kept[: self.keys])
        part = list(keys)
        for place in kept[self.keys :]:
            more = [*part, place]
            if part != keys and sum(map(self._least, more)) + self._around(len(more)) > width:
                yield part
                more = [*keys, place]
            part = more
        yield part

    def _widths(self, shown: Sequence[int], width: int) -> list[int]:
        """Return the widths of columns: wide if there is room, else narrower, the widest first."""
        room = width - self._around(len(shown))
        columns = [self.columns[place] for place in shown]
        widths = [max(_widest(column.header), _cells_width(column)) for column in columns]
        headings_wrapped = [max(_longest(one.header), _cells_width(one)) for one in columns]
        # The last bounds break words: they are reached if one word is wider than the terminal.
        for least in (headings_wrapped, [self._least(place) for place in shown], [1] * len(shown)):
            while sum(widths) > room:
                free = [i for i, bound in enumerate(least) if widths[i] > bound]
                if not free:
                    break
                widths[max(free, key=lambda i: widths[i])] -= 1
        return widths

    def _least(self, place: int) -> int:
        """Return the width of a column that has a line for every word."""
        column = self.columns[place]
        return max(_longest(column.header), *map(_longest, column.cells), 1)

    def _around(self, count: int) -> int:
        """Return the width of padding and borders."""
        _, right, _, left = self.padding
        edges = 0 if self.pad_edge else left + right
        return count * (left + right) - edges + (count + 1 if self.box else 0)

    def _made(self, shown: Sequence[int], widths: Sequence[int]) -> Table:
        """Return a table of these columns in which all lines have their final form."""
        made = Table(box=self.box, padding=self.padding, pad_edge=self.pad_edge)
        made.show_lines = self.show_lines
        for place, width in zip(shown, widths, strict=True):
            column = self.columns[place]
            header = _wrapped(column.header, width)
            made.add_column(header, justify=column.justify, width=width, overflow="fold")
        cells = [list(self.columns[place].cells) for place in shown]
        for number, row in enumerate(self.rows):
            _add(made, row, [_wrapped(c[number], w) for c, w in zip(cells, widths, strict=True)])
        return made


def _add(table: Table, row: Row, cells: Sequence[Text]) -> None:
    table.add_row(*cells, style=row.style, end_section=row.end_section)


def _plain(cell: object) -> str:
    return cell.plain if isinstance(cell, Text) else str(cell)


def _widest(cell: object) -> int:
    return max(map(cell_len, _plain(cell).split("\n")))


def _cells_width(column: Column) -> int:
    return max(map(_widest, column.cells), default=1)


def _longest(cell: object) -> int:
    return max(cell_len(piece.rstrip()) for piece in _BREAKS.split(_plain(cell)))


def _wrapped(cell: object, width: int) -> Text:
    """Return a cell with line ends between its words."""
    lines = (line for part in _plain(cell).split("\n") for line in _filled(part, width))
    return Text("\n".join(lines), style=cell.style if isinstance(cell, Text) else "")


def _filled(text: str, width: int) -> Iterator[str]:
    line = ""
    for piece in _BREAKS.split(text):
        if line and cell_len(line) + cell_len(piece.rstrip()) > width:
            yield line.rstrip()
            line = ""
        line += piece
    yield line.rstrip()


def _lines(text: str, width: int, *, style: str) -> Iterator[Text]:
    for line in _filled(text, width):
        yield Text(line, style=style, overflow="fold")
