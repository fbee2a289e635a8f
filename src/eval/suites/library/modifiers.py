"""In which order modifiers are shown: from plain to complex, as ``materials/order.yaml`` says."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import yaml

from gardenpath.errors import InputError

ORDER_FILE = Path(__file__).parents[1] / "materials" / "order.yaml"

# Names from plain to complex.
Chain = tuple[str, ...]


@cache
def modifier_orders(path: Path = ORDER_FILE) -> tuple[Chain, ...]:
    """Read the orders of modifiers, each from plain to complex."""
    try:
        chains = yaml.safe_load(path.read_text(encoding="utf-8"))["order"]
        return tuple(tuple(map(str, chain)) for chain in chains)
    except (OSError, yaml.YAMLError, KeyError, TypeError) as error:
        remedy = "write 'order:' and a list of lists of modifiers"
        raise InputError(f"holds no orders: {error}", path=path, remedy=remedy) from error
