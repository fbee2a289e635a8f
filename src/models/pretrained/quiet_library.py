"""Keep the library transformers from writing to the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def transformers_quiet() -> Iterator[None]:
    """Show no progress and no warnings of the library within a block."""
    from transformers.utils import logging

    level, shows_progress = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if shows_progress:
            logging.enable_progress_bar()
