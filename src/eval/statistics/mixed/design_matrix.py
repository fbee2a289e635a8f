"""From a formula and a table to the matrices of a mixed model.

Formulas are those of lme4: ``outcome ~ syntax + (1 | modifier) + (1 | item)``. With X the matrix of
fixed effects and Z that of random effects, the linear predictor is ``X β + Z Λ(θ) u``, where u is
standard normal and Λ(θ) is block diagonal: the relative Cholesky factor of each random term's
covariance, once per level of its grouping factor (Bates et al. 2015).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import pandas as pd
import scipy.linalg
import scipy.sparse
from mixedlm import parse_formula
from mixedlm.matrices import build_model_matrices
from numpy.typing import NDArray

from gardenpath.eval.statistics.mixed.coding import (
    Coding,
    Floats,
    StatisticsError,
    code_factors,
    readable_name,
)
from gardenpath.eval.statistics.mixed.loadings import Loadings
from gardenpath.settings.check import nearest

_RANK_TOLERANCE = 1e-9
# Below this standard deviation (relative to the residual one) a random effect counts as absent.
SINGULAR = 1e-4


@dataclass(frozen=True, slots=True)
class RandomTerm:
    """What varies by a grouping factor: ``(1 + gap | item)`` has two names and n levels."""

    group: str
    names: tuple[str, ...]
    levels: int
    is_correlated: bool

    @property
    def places(self) -> tuple[tuple[int, int], ...]:
        """Row and column of each of its parameters θ within a block of Λ."""
        size = len(self.names)
        rows, columns = np.tril_indices(size)
        pairs = zip(rows.tolist(), columns.tolist(), strict=True)
        return tuple((r, c) for r, c in pairs if self.is_correlated or r == c)


@dataclass(frozen=True)
class Design:
    """The matrices of a model; ``weights`` are numbers of trials in a binomial one."""

    formula: str
    response: Floats  # (rows,)
    fixed: Floats  # (rows, coefficients)
    names: tuple[str, ...]
    random: Any  # sparse (rows, random effects)
    terms: tuple[RandomTerm, ...]
    weights: Floats  # (rows,)
    notes: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        """The number of observations."""
        return len(self.response)

    @cached_property
    def entries(self) -> tuple[tuple[NDArray[np.intp], NDArray[np.intp]], ...]:
        """For each parameter θ, the rows and columns of Λ where it stands."""
        return tuple(self._entries())

    def _entries(self) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        start = 0
        for term in self.terms:
            size = len(term.names)
            blocks = start + size * np.arange(term.levels)
            for row, column in term.places:
                yield blocks + row, blocks + column
            start += size * term.levels

    @cached_property
    def is_scale(self) -> NDArray[np.bool_]:
        """Which parameters θ stand on the diagonal of Λ, and so are not negative."""
        return np.array([r == c for term in self.terms for r, c in term.places], dtype=bool)

    @cached_property
    def loadings(self) -> Loadings:
        """The matrix of random effects, row by row."""
        offsets = np.cumsum([0, *(len(term.names) for term in self.terms)])
        return Loadings(
            self.random,
            sizes=[len(term.names) for term in self.terms],
            levels=[term.levels for term in self.terms],
            places=[
                (int(offset) + row, int(offset) + column)
                for offset, term in zip(offsets, self.terms, strict=False)
                for row, column in term.places
            ],
        )

    def factor(self, theta: Floats) -> Any:
        """The sparse matrix Λ(θ)."""
        size = self.random.shape[1]
        if not len(theta):
            return scipy.sparse.csr_array((size, size))
        rows = np.concatenate([rows for rows, _ in self.entries])
        columns = np.concatenate([columns for _, columns in self.entries])
        lengths = [len(rows) for rows, _ in self.entries]
        values = np.repeat(theta, lengths)
        return scipy.sparse.csr_array((values, (rows, columns)), shape=(size, size))

    def covariances(self, theta: Floats) -> Iterator[tuple[RandomTerm, Floats]]:
        """The covariance matrix of each random term, relative to the residual variance."""
        start = 0
        for term in self.terms:
            block = np.zeros((len(term.names), len(term.names)))
            for place in term.places:
                block[place] = theta[start]
                start += 1
            yield term, block @ block.T

    def with_positive_scales(self, theta: Floats) -> Floats:
        """Parameters of the same covariances: a column of Λ and its negative say the same."""
        turned, start = theta.copy(), 0
        for term in self.terms:
            columns = np.array([column for _, column in term.places])
            part = turned[start : start + len(columns)]  # a view
            scales = {c: part[n] for n, (r, c) in enumerate(term.places) if r == c}
            part *= [-1.0 if scales[column] < 0.0 else 1.0 for column in columns]
            start += len(columns)
        return turned

    def is_singular(self, theta: Floats) -> bool:
        """Whether some random effect has no variance, or is a combination of others."""
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
) -> tuple[Design, Any]:
    """The design of a model, and the same as ``mixedlm`` keeps it.

    Rows with missing values are left out. Columns of X that others determine are left out too, and
    noted, for their coefficients mean nothing.
    """
    codings = codings or {}
    parsed = _parse(formula)
    _check_columns(formula, sorted(parsed.all_variables), table)
    used = [*sorted(parsed.all_variables), *([weights] if weights else [])]
    complete = table[used].dropna()
    if complete.empty:
        raise StatisticsError(f"no row of the table has all of {', '.join(used)}")
    coded, contrasts = code_factors(complete, codings)
    trials = coded[weights].to_numpy(dtype=np.float64) if weights else np.ones(len(coded))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        matrices: Any = build_model_matrices(parsed, coded, weights=trials, contrasts=contrasts)
    missing = len(table) - len(complete)
    notes = [f"{missing} rows with missing values were left out"] if missing else []
    names = [readable_name(name, codings) for name in matrices.fixed_names]
    kept = _independent(matrices.X)
    if dropped := [name for number, name in enumerate(names) if number not in kept]:
        notes.append(f"{', '.join(dropped)} cannot be told from the other effects; left out")
    design = Design(
        formula=formula,
        response=np.asarray(matrices.y, dtype=np.float64),
        fixed=np.asarray(matrices.X[:, kept], dtype=np.float64),
        names=tuple(names[number] for number in kept),
        random=scipy.sparse.csr_array(matrices.Z),
        terms=tuple(_term(structure, codings) for structure in matrices.random_structures),
        weights=trials,
        notes=tuple(notes),
    )
    return design, coded


def grouping_factors(formula: str) -> tuple[str, ...]:
    """The columns by which a formula's random effects are grouped."""
    return tuple(sorted({str(name) for name in _parse(formula).grouping_factors}))


def fixed_variables(formula: str) -> tuple[str, ...]:
    """The columns of a formula's fixed effects."""
    return tuple(sorted({str(name) for name in _parse(formula).fixed_variables}))


def slope_variables(formula: str) -> tuple[str, ...]:
    """The columns whose effects vary by group."""
    return tuple(sorted({str(name) for name in _parse(formula).random_variables}))


def response_variable(formula: str) -> str:
    """The column that a formula explains."""
    return str(_parse(formula).response)


@cache
def _parse(formula: str) -> Any:
    try:
        return parse_formula(formula)
    except Exception as error:  # whatever a parser of another's makes of a wrong formula
        raise StatisticsError(f"the formula {formula!r} cannot be read: {error}") from error


def _check_columns(formula: str, wanted: list[str], table: pd.DataFrame) -> None:
    missing = [name for name in wanted if name not in table.columns]
    if missing:
        hints = "; ".join(f"no column {name!r}, {nearest(name, table.columns)}" for name in missing)
        raise StatisticsError(f"the table does not fit the formula {formula!r}: {hints}")


def _independent(matrix: Floats) -> list[int]:
    """The columns that are no combination of columns before them."""
    kept: list[int] = []
    for column in range(matrix.shape[1]):
        chosen = matrix[:, [*kept, column]]
        norms = np.linalg.norm(chosen, axis=0)
        if norms[-1] == 0.0:
            continue
        # The last diagonal entry of R is what the column adds to those before it.
        triangle = scipy.linalg.qr(chosen / norms, mode="r")[0]
        if abs(triangle[len(kept), len(kept)]) > _RANK_TOLERANCE:
            kept.append(column)
    return kept


def _term(structure: Any, codings: Mapping[str, Coding]) -> RandomTerm:
    if structure.cov_type != "us":
        raise StatisticsError(f"random effects with {structure.cov_type!r} covariance are unknown")
    return RandomTerm(
        group=str(structure.grouping_factor),
        names=tuple(readable_name(name, codings) for name in structure.term_names),
        levels=int(structure.n_levels),
        is_correlated=bool(structure.correlated),
    )
