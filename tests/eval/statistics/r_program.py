"""R, for tests that compare its numbers with ours: one session runs all scripts of a process."""

from __future__ import annotations

import atexit
import io
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import pandas as pd
import pytest

from gardenpath.eval.statistics.rscript import r_environment

NEEDS_R = "needs R with lme4, lmerTest and readr"

# Prints a data frame as r_table reads it.
_PRINT = 'write.csv({}, stdout(), row.names = FALSE, na = "")'

# Starting R and loading lme4 takes longer than most scripts. Each script has an environment of its
# own and finds neither packages, options nor a working directory that another one left.
_SESSION = """
run <- function(script, output) {
  attached <- search()
  saved <- options()
  here <- getwd()
  on.exit({
    sink()
    options(saved)
    setwd(here)
    for (name in setdiff(search(), attached)) detach(name, character.only = TRUE)
  })
  scope <- new.env(parent = globalenv())
  scope$commandArgs <- function(...) paste0("--file=", script)
  sink(output)
  for (expression in parse(script, keep.source = FALSE)) {
    value <- withVisible(eval(expression, scope))
    if (value$visible) print(value$value)
  }
  "done"
}
input <- file("stdin", "r")
while (length(script <- readLines(input, n = 1)) > 0) {
  output <- readLines(input, n = 1)
  said <- tryCatch(run(script, output), error = conditionMessage)
  cat(gsub("\\n", " ", said), "\\n", sep = "")
}
"""


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


@cache
def _session(program: str, locale: str | None) -> subprocess.Popen[str]:
    """R that reads names of scripts and of files for their output; ``locale`` is of its start."""
    with tempfile.NamedTemporaryFile("w", suffix=".R", delete=False) as file:
        file.write(_SESSION)
    session = subprocess.Popen(
        [program, file.name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
        errors="replace",
    )

    def end() -> None:
        session.communicate()
        Path(file.name).unlink()

    atexit.register(end)
    return session


def run_script(path: Path) -> pd.DataFrame:
    """The table that a script prints; empty cells are missing, words are texts."""
    session = _session(require_r(), os.environ.get("LC_ALL"))
    printed = path.with_suffix(".printed")
    assert session.stdin is not None and session.stdout is not None
    session.stdin.write(f"{path.absolute()}\n{printed.absolute()}\n")
    session.stdin.flush()
    said = session.stdout.readline().strip()
    assert said == "done", said or "R has ended"
    text = printed.read_text(encoding="utf-8")
    return pd.read_csv(io.StringIO(text), keep_default_na=False, na_values=[""])


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
