"""Fuzz readers for long: ``python -m tests.fuzz --inputs 1000000 --reader arpa``.

Prints the number of inputs, the time and every distinct finding, with an input that shows it; the
exit code is 1 if there are any. With ``--atheris`` (and the package installed), inputs are guided
by the coverage of the code instead.
"""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
import warnings
from pathlib import Path

if "--atheris" in sys.argv:  # instruments code while it is imported
    import atheris

    with atheris.instrument_imports(include=["gardenpath"]):
        from tests.fuzz.campaign import READERS
else:
    from tests.fuzz.campaign import READERS
from tests.fuzz.campaign import Findings, run_campaign
from tests.fuzz.reader import Reader, is_refused


def main() -> int:
    """Run the campaigns that the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--reader", action="append", choices=sorted(READERS), help="default: all")
    parser.add_argument("--inputs", type=int, default=10_000, help="per reader")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="per reader")
    parser.add_argument("--number", type=int, default=0, help="selects the inputs")
    parser.add_argument("--atheris", action="store_true", help="guided by coverage")
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    chosen = [READERS[name] for name in given.reader or READERS]
    if given.atheris:
        return guided(chosen[0], given.inputs)
    count = 0
    for reader in chosen:
        found = run_campaign(reader, given.inputs, number=given.number, seconds=given.seconds)
        show(found)
        count += len(found.found)
    return 1 if count else 0


def show(found: Findings) -> None:
    """Print the counts and the findings of a campaign."""
    print(found, flush=True)
    for failure, (message, content) in found.found.items():
        print(f"  {failure}: {message!r}\n    {content[:1000]!r}", flush=True)


def guided(reader: Reader, inputs: int) -> int:
    """Fuzz one reader with atheris, which keeps inputs that reach new code."""
    corpus = Path(tempfile.mkdtemp(prefix="gardenpath-corpus-"))
    for number, seed in enumerate(reader.seeds):
        (corpus / str(number)).write_bytes(seed)
    limits = ["-timeout=20", "-rss_limit_mb=6000", f"-runs={inputs}", "-max_len=4096"]
    atheris.Setup([sys.argv[0], *limits, str(corpus)], lambda content: is_refused(reader, content))
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main())
