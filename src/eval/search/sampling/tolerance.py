"""More replicates where a word that matters has too large a standard error."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from gardenpath.data.arrays import Floats
from gardenpath.eval.search.result import SentenceResult, with_replicates
from gardenpath.eval.search.sampling.replicates import standard_error
from gardenpath.eval.search.search_settings import Unbiased

# Searches the sentences of these numbers in these replicates.
Search = Callable[[Sequence[int], range], Mapping[int, SentenceResult]]
# ``(words + 1, replicates)`` deviations of the words of a sentence.
DeviationsOf = Callable[[int, SentenceResult], Floats]


def exceeds(deviations: Floats, positions: Collection[int] | None, tolerance: float) -> bool:
    """Whether a standard error is above the tolerance at one of the positions (None: any)."""
    errors = standard_error(deviations)
    chosen = errors if positions is None else errors[sorted(positions)]
    return bool((chosen > tolerance).any())


def until_tolerance(
    search: Search,
    deviations: DeviationsOf,
    numbers: Sequence[int],
    settings: Unbiased,
    matters: Sequence[Collection[int] | None],
) -> dict[int, SentenceResult]:
    """Search sentences, doubling the replicates of those whose standard errors are too large.

    A sentence for which no replicate found an analysis has none, and is searched again as well.
    The replicates that are there already are kept, so that the result depends only on how many a
    sentence has in the end.
    """
    found = dict(search(numbers, range(settings.replicates)))
    count = settings.replicates
    if settings.tolerance is None:
        return found
    left = list(numbers)
    while count < settings.max_replicates:
        left = [
            number
            for number in left
            if found[number].failure is not None
            or exceeds(deviations(number, found[number]), matters[number], settings.tolerance)
        ]
        if not left:
            break
        more = range(count, min(2 * count, settings.max_replicates))
        for number, result in search(left, more).items():
            found[number] = with_replicates([found[number], result])
        count = more.stop
    return found
