"""Display order of modifiers, from simple to complex, as listed in ``materials/order.yaml``."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from gardenpath.errors import InputError
from gardenpath.safe_text import parse_yaml

ORDER_FILE = Path(__file__).parents[1] / "materials" / "order.yaml"

# Names of modifiers from simple to complex.
Chain = tuple[str, ...]


@cache
def modifier_orders(path: Path = ORDER_FILE) -> tuple[Chain, ...]:
    """Read the orders of modifiers, each from simple to complex."""
    try:
        chains = parse_yaml(path.read_text(encoding="utf-8"))["order"]
        return tuple(tuple(map(str, chain)) for chain in chains)
    except (OSError, ValueError, KeyError, TypeError) as error:
        remedy = "write 'order:' and a list of lists of modifiers"
        raise InputError(f"contains no orders: {error}", path=path, remedy=remedy) from error
