"""The second process of trainings whose processes were started as torchrun starts them.

Its arguments are those of several trainings, each as a JSON list on a line of the standard input;
after each, it prints one line.
"""

from __future__ import annotations

import json
import sys

from gardenpath.errors import GardenpathError
from gardenpath.runs.training import train

if __name__ == "__main__":
    for line in sys.stdin:
        try:
            result = json.dumps(train(*json.loads(line)))
        except GardenpathError as error:
            result = f"{type(error).__name__}: {error}"
        sys.stdout.write(f"{result}\n")
        sys.stdout.flush()
