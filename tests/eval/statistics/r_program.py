"""R, for tests that compare its numbers with ours."""

from __future__ import annotations

import io
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pandas as pd
import pytest

from gardenpath.eval.statistics.rscript import r_environment

NEEDS_R = "needs R with lme4, lmerTest and readr"

# Prints a data frame as r_table reads it.
_PRINT = 'write.csv({}, stdout(), row.names = FALSE, na = "")'


@cache
def _rscript() -> str | None:
    """The program, if it is installed with these packages."""
    program = shutil.which("Rscript")
    if program is None:
        return None
    found = 'all(sapply(c("lme4", "lmerTest", "readr"), requireNamespace, quietly = TRUE))'
    asked = [program, "-e", f"quit(status = !{found})"]
    return None if subprocess.run(asked, capture_output=True).returncode else program


def require_r() -> str:
    """The program that runs scripts; the test is skipped where it is missing."""
    program = _rscript()
    if program is None:
        pytest.skip(NEEDS_R)
    return program


def run_script(path: Path) -> pd.DataFrame:
    """The table that a script prints; empty cells are missing, words are texts."""
    done = subprocess.run([require_r(), str(path)], capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return pd.read_csv(io.StringIO(done.stdout), keep_default_na=False, na_values=[""])


def r_functions(*names: str) -> str:
    """Functions of the scripts of analyses, by the names of their blocks in the template."""
    template = r_environment().get_template("analysis.R")
    return "".join("".join(template.blocks[name](template.new_context())) for name in names)


def r_table(folder: Path, code: str, result: str, **tables: pd.DataFrame) -> pd.DataFrame:
    """The data frame ``result`` after running ``code``, in which the tables have their names."""
    lines = []
    for name, table in tables.items():
        table.to_csv(folder / f"{name}.csv", index=False)
        lines.append(f'{name} <- read.csv("{folder / f"{name}.csv"}", check.names = FALSE)')
    script = folder / "code.R"
    script.write_text("\n".join([*lines, code, _PRINT.format(result)]) + "\n", encoding="utf-8")
    return run_script(script)
