"""The random effects matrix row by row, and factors of its cross products.

``Loadings`` stores Z for ``design``; the likelihoods factor ``A'WA + I`` with it at every step of
their search. Each row of a table belongs to one level of every random term, so a row of ZΛ has few
entries. Their columns do not depend on θ, and all rows share the same small block of Λ. For
``(1 + gap | item) + (1 | seed)`` a row has three entries: the item's intercept and slope, and the
seed's intercept. Nothing here knows what is fitted.
"""

from __future__ import annotations

import dataclasses
import math
import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
import scipy.linalg
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotrs
from scipy.optimize import linprog

from gardenpath.data.arrays import Floats
from gardenpath.errors import StatisticsError
from gardenpath.eval.statistics.formulas import (
    INTERCEPT,
    INTERCEPT_TERM,
    Coding,
    Distribution,
    ModelFormula,
    ModelTerm,
    RandomPart,
    Variable,
    backticked,
    coding_of,
    parse_model_formula,
)
from gardenpath.settings.schema import nearest


@dataclass(frozen=True)
class Loadings:
    """The entries of Z in each row, (rows, width), and products with ZΛ(θ).

    A random term has ``sizes`` effects at each of ``levels`` levels; its columns in Z are ordered
    by level. ``places`` are the row and column of each parameter θ within the block of all terms.
    """

    columns: NDArray[np.intp]
    values: Floats
    sizes: tuple[int, ...]
    levels: tuple[int, ...]
    places: tuple[tuple[int, int], ...]

    @cached_property
    def size(self) -> int:
        """The number of random effects."""
        return sum(map(operator.mul, self.sizes, self.levels))

    @cached_property
    def _pattern(self) -> ArrowPattern | DensePattern:
        """The pattern in which the term with the most effects is eliminated, if it is large."""
        effects = list(map(operator.mul, self.sizes, self.levels))
        if max(effects) < _FEWEST_EFFECTS:
            return DensePattern(self.columns, self.size)
        term = effects.index(max(effects))
        start, size, levels = sum(effects[:term]), self.sizes[term], self.levels[term]
        return ArrowPattern(self.columns, self.size, start=start, size=size, levels=levels)

    def block(self, theta: Floats) -> Floats:
        """Return the block of Λ(θ) that all rows share, (width, width)."""
        block = np.zeros((self.values.shape[1],) * 2)
        for place, value in zip(self.places, theta, strict=True):
            block[place] = value
        return block

    def scaled(self, theta: Floats) -> Floats:
        """Return the entries of ZΛ in the same columns, (rows, width)."""
        return np.asarray(self.values @ self.block(theta))

    def forward(self, entries: Floats, effects: Floats) -> Floats:
        """Return ``A u`` for the matrix A with these entries."""
        return np.asarray(np.einsum("rw,rw->r", entries, effects[self.columns]))

    def backward(self, entries: Floats, rows: Floats) -> Floats:
        """Return ``A'r`` for the matrix A with these entries."""
        return _sums(self.columns.ravel(), entries * rows[:, None], self.size)

    def factor(self, entries: Floats, weights: Floats) -> Factor:
        """Factor ``A'WA + I`` for the matrix A with these entries."""
        return self._pattern.factor(entries, weights) if self.size else NoFactor()

    def spread(self, entries: Floats, factor: Factor) -> Floats:
        """Return the entries of ``A H⁻¹`` in the columns of each row of A, (rows, width).

        ``factor`` is that of H.
        """
        return np.asarray(np.einsum("ra,rab->rb", entries, factor.cells(self.columns)))


# ----------------------------------------------------------------------------
# With the effects of one term first, ``A'WA + I`` has the form of an arrow: one small block for
# each level (an item), and further rows and columns for all other terms (seeds, modifiers)::
#
#     [ D  B ]      D block diagonal, (levels, size, size)
#     [ B' C ]      C dense, (others, others)
#
# Blocks are eliminated together, and what remains is the Schur complement ``C − B'D⁻¹B``. Of the
# inverse, only the cells that the likelihoods need are computed. A dense factor of the whole matrix
# is for tables in which no term has so many effects.


_FEWEST_EFFECTS = 80


class ArrowFactor:
    """Factor of a matrix in the form of an arrow; ``start`` is the first column of the blocks."""

    def __init__(self, blocks: Floats, border: Floats, corner: Floats, start: int) -> None:
        self._blocks, self._border = blocks, border
        self._start, self._stop = start, start + blocks.shape[0] * blocks.shape[1]
        self._reached = np.linalg.solve(blocks, border)  # D⁻¹B
        flat = border.reshape(self._stop - self._start, border.shape[2])
        self._rest = corner - flat.T @ self._reached.reshape(flat.shape)
        lower = np.linalg.cholesky(blocks)  # raises LinAlgError if not positive definite
        remaining = np.linalg.cholesky(self._rest)
        self.logdet = 2.0 * float(
            np.log(np.diagonal(lower, axis1=1, axis2=2)).sum() + np.log(np.diag(remaining)).sum()
        )

    def solve(self, right: Floats) -> Floats:
        """Solve for the right-hand side ``right``: a vector, or one vector per column."""
        columns = right.reshape(len(right), math.prod(right.shape[1:]))
        levels, size, others = self._border.shape
        own = columns[self._start : self._stop]
        rest = np.delete(columns, np.s_[self._start : self._stop], axis=0)
        solved = np.linalg.solve(self._blocks, own.reshape(levels, size, own.shape[1]))
        flat = self._border.reshape(levels * size, others)
        last = np.linalg.solve(self._rest, rest - flat.T @ solved.reshape(own.shape))
        first = (solved - self._reached @ last).reshape(own.shape)
        together = np.concatenate([last[: self._start], first, last[self._start :]])
        return np.asarray(together.reshape(right.shape))

    def cells(self, columns: NDArray[np.intp]) -> Floats:
        """Return the cells of the inverse at all pairs of each row's columns.

        ``columns`` are (rows, width), the result is (rows, width, width).
        """
        levels, size, _ = self._border.shape
        own, other, level, places = _split(columns, self._start, size, levels)
        rest = np.linalg.inv(self._rest)
        carried = self._reached @ rest
        blocks = np.linalg.inv(self._blocks) + carried @ self._reached.transpose(0, 2, 1)
        cells = np.empty((len(columns), columns.shape[1], columns.shape[1]))
        cells[:, own[:, None], own] = blocks[level]
        between = -carried[level[:, None], :, places]  # (rows, others of a row, size)
        cells[:, other[:, None], own] = between
        cells[:, own[:, None], other] = between.transpose(0, 2, 1)
        cells[:, other[:, None], other] = rest[places[:, :, None], places[:, None, :]]
        return cells


class NoFactor:
    """The factor of an empty matrix."""

    logdet = 0.0

    def solve(self, right: Floats) -> Floats:
        """Return an empty solution."""
        return np.zeros_like(right)

    def cells(self, columns: NDArray[np.intp]) -> Floats:
        """Return no cells for each row."""
        return np.zeros((len(columns), 0, 0))


class DenseFactor:
    """Dense Cholesky factor; only the lower triangle of the matrix is read."""

    def __init__(self, matrix: Floats) -> None:
        self._lower, failure = dpotrf(matrix, lower=1, clean=0)
        if failure:
            raise np.linalg.LinAlgError("the matrix is not positive definite")
        self.logdet = float(2.0 * np.log(self._lower.diagonal()).sum())

    def solve(self, right: Floats) -> Floats:
        """Solve for the right-hand side ``right``: a vector, or one vector per column."""
        return np.asarray(dpotrs(self._lower, right, lower=1)[0])

    def cells(self, columns: NDArray[np.intp]) -> Floats:
        """Return the cells of the inverse at all pairs of each row's columns."""
        # Not dpotri, which starts threads even for small matrices and is then slower by far.
        inverse = self.solve(np.eye(len(self._lower)))
        return np.asarray(inverse[columns[:, :, None], columns[:, None, :]])


Factor = ArrowFactor | DenseFactor | NoFactor


class DensePattern:
    """Factors ``A'WA + I`` of few columns; ``columns`` are those of each row, (rows, width)."""

    def __init__(self, columns: NDArray[np.intp], size: int) -> None:
        self._size = size
        # The columns of a row are in ascending order, so these pairs are in the lower triangle.
        self._first, self._second = np.tril_indices(columns.shape[1])
        self._places = (columns[:, self._first] + size * columns[:, self._second]).ravel()

    def factor(self, entries: Floats, weights: Floats) -> DenseFactor:
        """Factor, given the entries of A, (rows, width), and the diagonal of W, (rows,)."""
        products = (entries * weights[:, None])[:, self._first] * entries[:, self._second]
        flat = _sums(self._places, products, self._size**2)
        flat[:: self._size + 1] += 1.0
        return DenseFactor(flat.reshape((self._size, self._size), order="F"))


class ArrowPattern:
    """Factors ``A'WA + I`` for matrices A that share a sparsity pattern.

    ``columns`` are the columns of each row's entries, (rows, width). The blocks have ``size``
    effects at each of ``levels`` levels, from the column ``start``.
    """

    def __init__(
        self, columns: NDArray[np.intp], total: int, *, start: int, size: int, levels: int
    ) -> None:
        self._own, self._other, level, places = _split(columns, start, size, levels)
        self._start, self._shape = start, (levels, size, total - size * levels)
        effect, others = np.arange(size), self._shape[2]
        row = level[:, None, None] * size + effect[:, None]
        self._of_blocks = (row * size + effect).ravel()
        self._of_border = (row * others + places[:, None, :]).ravel()
        self._of_corner = (places[:, :, None] * others + places[:, None, :]).ravel()

    def factor(self, entries: Floats, weights: Floats) -> ArrowFactor:
        """Factor, given the entries of A, (rows, width), and the diagonal of W, (rows,)."""
        levels, size, others = self._shape
        own, other = entries[:, self._own], entries[:, self._other]
        weighted = own * weights[:, None]
        blocks = _sums(self._of_blocks, weighted[:, :, None] * own[:, None, :], levels * size**2)
        border = _sums(
            self._of_border, weighted[:, :, None] * other[:, None, :], levels * size * others
        )
        products = (other * weights[:, None])[:, :, None] * other[:, None, :]
        corner = _sums(self._of_corner, products, others**2)
        return ArrowFactor(
            blocks.reshape(levels, size, size) + np.eye(size),
            border.reshape(levels, size, others),
            corner.reshape(others, others) + np.eye(others),
            self._start,
        )


def _split(
    columns: NDArray[np.intp], start: int, size: int, levels: int
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Return which of a row's entries are in blocks and in the corner, and where these are.

    The latter are the row's level, and the places of its other entries within the corner.
    """
    stop = start + size * levels
    is_own = (columns[0] >= start) & (columns[0] < stop)
    own, other = np.flatnonzero(is_own), np.flatnonzero(~is_own)
    places = columns[:, other]
    places = np.where(places >= stop, places - size * levels, places)
    return own, other, (columns[:, own[0]] - start) // size, places


def _sums(places: NDArray[np.intp], values: Floats, length: int) -> Floats:
    return np.asarray(np.bincount(places, values.ravel(), minlength=length), np.float64)


# ----------------------------------------------------------------------------
# Design matrices of mixed models, built from a formula and a table, and checks of them.
#
# With X the design matrix of the fixed effects and Z that of the random effects, the linear
# predictor is ``X β + Z Λ(θ) u``, where u is standard normal and Λ(θ) is block diagonal. Its
# blocks are the relative Cholesky factors of the random terms' covariance matrices, one block per
# level of the grouping factor (Bates et al. 2015). ``mixed`` fits a design, and ``answering`` asks
# which random effects a table identifies. Nothing is estimated here; matrices are those of R.


_RANK_TOLERANCE = 1e-9
# Standard deviation, relative to the residual, below which a fit counts as singular.
SINGULAR = 1e-4


@dataclass(frozen=True, slots=True)
class RandomTerm:
    """Effects that vary by a grouping factor: ``(1 + gap | item)`` has two names and n levels."""

    group: str
    names: tuple[str, ...]
    levels: int

    @property
    def places(self) -> tuple[tuple[int, int], ...]:
        """Row and column of each of the term's parameters θ within a block of Λ."""
        rows, columns = np.tril_indices(len(self.names))
        return tuple(zip(rows.tolist(), columns.tolist(), strict=True))


@dataclass(frozen=True)
class Design:
    """The design of a model.

    ``weights`` are the numbers of trials of binomial responses, or the prior weights of a linear
    model: the residual variance of a row is σ² divided by its weight.
    """

    formula: str
    response: Floats  # (rows,)
    fixed: Floats  # (rows, coefficients)
    names: tuple[str, ...]
    loadings: Loadings  # Z
    terms: tuple[RandomTerm, ...]
    weights: Floats  # (rows,)
    notes: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        """The number of observations."""
        return len(self.response)

    @cached_property
    def is_scale(self) -> NDArray[np.bool_]:
        """Whether each parameter θ is on the diagonal of Λ, and therefore not negative."""
        return np.array([row == column for row, column in self.loadings.places], dtype=bool)

    def covariances(self, theta: Floats) -> Iterator[tuple[RandomTerm, Floats]]:
        """Yield the covariance matrix of each random term, relative to the residual variance."""
        whole, start = self.loadings.block(theta), 0
        for term in self.terms:
            own = slice(start, start + len(term.names))
            yield term, whole[own, own] @ whole[own, own].T
            start += len(term.names)

    def with_positive_scales(self, theta: Floats) -> Floats:
        """Return equivalent parameters with a non-negative diagonal of Λ.

        Reversing the sign of a column of Λ does not change the covariances.
        """
        signs = np.where(np.diag(self.loadings.block(theta)) < 0.0, -1.0, 1.0)
        return theta * signs[[column for _, column in self.loadings.places]]

    def is_singular(self, theta: Floats) -> bool:
        """Whether a random effect has zero variance or is a linear combination of others."""
        return any(
            float(np.linalg.eigvalsh(covariance)[0]) < SINGULAR**2
            for _, covariance in self.covariances(theta)
        )


def build_design(
    formula: str,
    table: pd.DataFrame,
    *,
    codings: Mapping[str, Coding] | None = None,
    weights: str | None = None,
) -> Design:
    """Build the design of a model; ``weights`` names the column of weights.

    Rows with missing values are dropped. Columns of X that are linear combinations of other columns
    are dropped too, because their coefficients are not identified. Both are recorded in the notes.
    """
    parsed = parse_model_formula(formula)
    used = [*parsed.variables, *([weights] if weights else [])]
    if lacking := [name for name in used if name not in table.columns]:
        hints = "; ".join(f"no column {name!r}, {nearest(name, table.columns)}" for name in lacking)
        raise StatisticsError(f"the table does not fit the formula {formula!r}: {hints}")
    complete = table[used].dropna()
    if complete.empty:
        raise StatisticsError(f"every row of the table lacks at least one of {', '.join(used)}")
    if not pd.api.types.is_numeric_dtype(complete[parsed.response]):
        raise StatisticsError(f"the response {parsed.response} is not numeric")
    missing = len(table) - len(complete)
    notes = [f"{missing} rows with missing values were left out"] if missing else []
    predictors = [*parsed.fixed_variables, *parsed.slope_variables]
    all_codings = with_all_codings(predictors, complete, codings or {})
    fixed, names = model_matrix(parsed.fixed, complete, all_codings)
    kept = _independent(fixed)
    if dropped := [name for number, name in enumerate(names) if number not in kept]:
        notes.append(f"{', '.join(dropped)} left out: not separable from the other effects")
    loadings, terms = _random(parsed, complete, all_codings)
    return Design(
        formula=formula,
        response=complete[parsed.response].to_numpy(dtype=np.float64),
        fixed=fixed[:, kept],
        names=tuple(names[number] for number in kept),
        loadings=loadings,
        terms=terms,
        weights=complete[weights].to_numpy(np.float64) if weights else np.ones(len(complete)),
        notes=tuple(notes),
    )


def _independent(matrix: Floats) -> list[int]:
    """Return the columns that are not linear combinations of preceding columns."""
    kept: list[int] = []
    for column in range(matrix.shape[1]):
        chosen = matrix[:, [*kept, column]]
        norms = np.linalg.norm(chosen, axis=0)
        # There are no more independent columns than rows.
        if norms[-1] == 0.0 or len(kept) == len(matrix):
            continue
        # The last diagonal entry of R is the norm of the part orthogonal to the kept columns.
        triangle = scipy.linalg.qr(chosen / norms, mode="r")[0]
        if abs(triangle[len(kept), len(kept)]) > _RANK_TOLERANCE:
            kept.append(column)
    return kept


def _random(
    formula: ModelFormula, table: pd.DataFrame, codings: Mapping[str, Coding]
) -> tuple[Loadings, tuple[RandomTerm, ...]]:
    """Return the matrix Z and the random terms to which its columns belong."""
    values, columns = [np.zeros((len(table), 0))], [np.zeros((len(table), 0), dtype=np.intp)]
    places: list[tuple[int, int]] = []
    terms: list[RandomTerm] = []
    offset = start = 0  # effects of a row, and of all levels, before the term
    for part in formula.random:
        groups = table.groupby(list(part.group), sort=True, observed=True)
        levels = groups.ngroup().to_numpy(dtype=np.intp)
        for correlated in part.blocks:
            effects, names = model_matrix(correlated, table, codings)
            group = ":".join(map(backticked, part.group))
            term = RandomTerm(group=group, names=names, levels=groups.ngroups)
            values.append(effects)
            columns.append(start + levels[:, None] * len(names) + np.arange(len(names)))
            places += [(offset + row, offset + column) for row, column in term.places]
            offset, start = offset + len(names), start + len(names) * term.levels
            terms.append(term)
    loadings = Loadings(
        columns=np.hstack(columns),
        values=np.hstack(values),
        sizes=tuple(len(term.names) for term in terms),
        levels=tuple(term.levels for term in terms),
        places=tuple(places),
    )
    return loadings, tuple(terms)


# ----------------------------------------------------------------------------
# Model matrices from the terms of a formula, as in R's ``model.matrix``.
#
# A numeric variable has one column, a factor the columns of its coding, and an interaction all
# products of its variables' columns, those of the first variable changing fastest. A factor is
# coded by contrasts if the rest of its term is contained in a preceding term. Otherwise contrasts
# would not span all of its levels, and the factor has one indicator per level. Without an
# intercept, the first factor has indicators too. (formulaic removes columns that R keeps where a
# margin is missing, as in ``a:b`` without ``a`` and ``b``, and coefficients would not be R's.)


def model_matrix(
    terms: Sequence[ModelTerm], table: pd.DataFrame, codings: Mapping[str, Coding]
) -> tuple[Floats, tuple[str, ...]]:
    """Return the columns of all terms and their names; ``codings`` must contain every factor."""
    rows = len(table)
    blocks, names = [np.zeros((rows, 0))], []
    for place, term in enumerate(terms):
        block, labels = np.ones((rows, 1)), [""]
        for variable in term:
            is_whole = _needs_all_levels(terms, place, variable, codings)
            columns, own = _columns(variable, table, codings, is_whole=is_whole)
            block = (columns[:, :, None] * block[:, None, :]).reshape(rows, -1)
            labels = [f"{left}:{new}" if left else new for new in own for left in labels]
        blocks.append(block)
        names += labels if term else [INTERCEPT]
    return np.hstack(blocks), tuple(names)


def with_all_codings(
    names: Sequence[str], table: pd.DataFrame, codings: Mapping[str, Coding]
) -> dict[str, Coding]:
    """Add treatment coding, with sorted levels, for text columns without a coding."""
    complete = dict(codings)
    for name in names:
        if name not in complete and not pd.api.types.is_numeric_dtype(table[name]):
            coding = coding_of(table[name], kind="treatment")
            if coding is None:
                raise StatisticsError(f"{name} has only one value, {table[name].iloc[0]}")
            complete[name] = coding
    return complete


def _needs_all_levels(
    terms: Sequence[ModelTerm], place: int, variable: Variable, codings: Mapping[str, Coding]
) -> bool:
    """Whether a factor needs one indicator per level in the term at ``place``."""
    if variable.name not in codings:
        return False
    if INTERCEPT_TERM not in terms:
        factors = ((n, v) for n, term in enumerate(terms) for v in term if v.name in codings)
        if next(factors) == (place, variable):
            return True
    rest = set(terms[place]) - {variable}
    return bool(rest) and not any(rest <= set(term) for term in terms[:place])


def _columns(
    variable: Variable, table: pd.DataFrame, codings: Mapping[str, Coding], *, is_whole: bool
) -> tuple[Floats, Sequence[str]]:
    """Return the columns of one variable and their names."""
    name, coding = variable.name, codings.get(variable.name)
    if coding is None:
        column = table[name].to_numpy(dtype=np.float64) ** variable.power
        return column[:, None], [variable.written(str)]
    if variable.power != 1:
        raise StatisticsError(
            f"{name} is a factor and cannot be raised to the power {variable.power}"
        )
    matrix = np.eye(len(coding.levels)) if is_whole else coding.matrix
    try:
        values = matrix[coding.places(table[name])]
    except StatisticsError as error:
        raise StatisticsError(f"{name}: {error}") from error
    return values, [f"{name}[{level}]" for level in (coding.levels if is_whole else coding.names)]


# ----------------------------------------------------------------------------
# Removal of random effects that a table does not identify.


def identifiable(
    formula: str, table: pd.DataFrame, *, family: Distribution
) -> tuple[str, list[str]]:
    """Return the formula with the random effects that can be estimated, and notes on the others.

    A grouping factor needs two levels. In a linear model, random effects that are as many as the
    rows are confounded with the residual; slopes are removed first.
    """
    parsed = parse_model_formula(formula)
    kept, notes = [], []
    for part in parsed.random:
        written = part.written()
        levels = table.groupby(list(part.group), sort=False, dropna=False).ngroups
        rows = len(table) if family == "gaussian" else np.inf
        if levels < 2:
            notes.append(f"{written} left out: only one level")
        elif levels >= rows:
            notes.append(f"{written} left out: only one row per level")
        elif _size(part, table) * levels >= rows:
            simple = RandomPart((INTERCEPT_TERM,), part.group)
            kept.append(simple)
            notes.append(f"{written} reduced to {simple.written()}: too few rows for slopes")
        else:
            kept.append(part)
    return str(dataclasses.replace(parsed, random=tuple(kept))), notes


def _size(part: RandomPart, table: pd.DataFrame) -> int:
    """Return the number of random effects (intercept and slopes) per level."""
    widths = {
        name: 1 if pd.api.types.is_numeric_dtype(table[name]) else table[name].nunique() - 1
        for name in {variable.name for term in part.terms for variable in term}
    }
    size = sum(math.prod(widths[variable.name] for variable in term) for term in part.terms)
    return max(size, 1)


# ----------------------------------------------------------------------------
# Rescaling of predictors whose magnitude would slow down the optimiser.
#
# A gradient-based search takes steps of about one in every direction. Frequencies per million
# words or proportions of a thousandth would need other step sizes. Such columns are divided by
# their root mean square, the model is fitted, and its parameters are converted back. Columns of
# usual magnitude are not changed.


# Smallest and largest root mean square that is not rescaled.
_USUAL = (0.1, 10.0)


@dataclass(frozen=True, slots=True)
class Units:
    """The divisors of the columns: one per parameter θ and one per fixed effect."""

    theta: Floats
    fixed: Floats


def in_usual_units(design: Design) -> tuple[Design, Units]:
    """Return the same model with rescaled predictors, and their units.

    Fixed effects and parameters θ of the original design are those of the returned design divided
    by their units. The unit of a parameter θ is that of the random effect in its row of Λ.
    """
    loadings = design.loadings
    fixed, random = _units(design.fixed), _units(loadings.values)
    scaled = dataclasses.replace(
        design,
        fixed=design.fixed / fixed,
        loadings=dataclasses.replace(loadings, values=loadings.values / random),
    )
    return scaled, Units(theta=random[[row for row, _ in loadings.places]], fixed=fixed)


def _units(columns: Floats) -> Floats:
    """Return the root mean square of each column, or 1 if it needs no rescaling."""
    sizes = np.sqrt(np.mean(columns**2, axis=0))
    is_usual = (sizes >= _USUAL[0]) & (sizes <= _USUAL[1]) | (sizes == 0.0)
    return np.where(is_usual, 1.0, sizes)


# ----------------------------------------------------------------------------
# Detection of separation, where a binomial model has no finite estimates.
#
# Outcomes are separated if a linear combination of the fixed effects is non-negative for all right
# outcomes, non-positive for all wrong ones, and not zero for all. The likelihood then increases
# without bound along this combination, whatever the random effects are. One model that is always
# right is sufficient. A linear programme finds such combinations (Konis 2007).


_FARTHEST = 1e-6


def separated_effects(design: Design) -> tuple[str, ...]:
    """Return the fixed effects of a binomial model that have no finite estimate."""
    right, wrong = design.response >= 1.0, design.response <= 0.0
    # Only distinct combinations of predictors and outcomes matter, not their frequencies.
    ordered = np.unique(np.vstack([design.fixed[right], -design.fixed[wrong]]), axis=0)
    shared = np.unique(design.fixed[~right & ~wrong], axis=0)
    if _furthest(ordered.sum(axis=0), ordered, shared) <= _FARTHEST:
        return ()
    directions = np.eye(len(design.names))
    return tuple(
        name
        for name, direction in zip(design.names, directions, strict=True)
        if max(_furthest(sign * direction, ordered, shared) for sign in (1.0, -1.0)) > _FARTHEST
    )


def _furthest(direction: Floats, ordered: Floats, shared: Floats) -> float:
    """Return the largest extent along a direction of a combination with coefficients in [−1, 1].

    The combination must be non-negative for the rows ``ordered`` (signed by their outcomes), and
    zero for the rows ``shared`` (outcomes partly right and partly wrong).
    """
    optimum = linprog(
        -direction,
        A_ub=-ordered if len(ordered) else None,
        b_ub=np.zeros(len(ordered)) if len(ordered) else None,
        A_eq=shared if len(shared) else None,
        b_eq=np.zeros(len(shared)) if len(shared) else None,
        bounds=(-1.0, 1.0),
    )
    return -float(optimum.fun) if optimum.success else 0.0
