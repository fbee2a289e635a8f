"""Inputs that once crashed a process, hung, or used all memory: ``python -m tests.fuzz.hostile``.

Prints, for each case, its name and either ``read`` or the message, as lines of JSON. The process
limits its own CPU time and memory.
"""

from __future__ import annotations

import json
import resource
from collections.abc import Callable
from pathlib import Path

from gardenpath.data.pcfg import parse_grammar
from gardenpath.data.sentence import Sentence, Source
from gardenpath.data.trees.cleaning import Cleaning
from gardenpath.data.trees.tree import format_tree, parse_tree, read_trees
from gardenpath.data.words.segmenting import english_words
from gardenpath.data.words.vocabulary import Vocabulary
from gardenpath.errors import GardenpathError
from gardenpath.eval.published.files import read_token_table
from gardenpath.eval.statistics.analysis import load_analysis
from gardenpath.eval.statistics.formulas import parse_model_formula
from gardenpath.eval.suites.benchmarks import load_blimp, load_climp
from gardenpath.eval.suites.formula import Formula
from gardenpath.eval.suites.syntaxgym import load_syntaxgym, load_syntaxgym_csv
from gardenpath.eval.suites.yaml_suites import load_yaml
from gardenpath.eval.surprisal.inputs import read_given
from gardenpath.models.ngram.arpa import read_arpa
from gardenpath.settings.schema import nearest
from gardenpath.store.run_folder import RunFolder
from tests.fuzz.reader import on_disk, scratch

N = 100_000

_BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 20)
)
_MERGES = "a0: &a0 {x0: 1}\n" + "".join(
    f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}], x{n}: 1}}\n" for n in range(1, 20)
)
_FREE = "%start S\n" + "".join(f"%feature f{n} = a{n} b{n} c{n} d{n}\n" for n in range(40))
_RULE = "S -> " + " ".join(f"X[f{n}]" for n in range(40)) + "\n"
_ARPA = "\\data\\\nngram 1={}\n\n\\1-grams:\n{}\tcat\t{}\n-1\t</s>\n-1\t<s>\n\n\\end\\\n"


def _file(load: Callable[[Path], object], name: str, text: str) -> Callable[[], object]:
    return lambda: load(on_disk(text.encode("utf-8", "surrogatepass"), name))


def _config(text: str) -> Callable[[], object]:
    def read() -> object:
        folder = scratch() / "hostile-run"
        folder.mkdir(exist_ok=True)
        (folder / "config.yaml").write_text(text, encoding="utf-8")
        return RunFolder(folder).config()

    return read


def _result() -> object:
    folder = scratch() / "hostile-run"
    folder.mkdir(exist_ok=True)
    (folder / "result.json").write_text("[" * N, encoding="utf-8")
    return RunFolder(scratch() / "hostile-run").result()


def _deep_tree() -> object:
    text = "(A " * N + "a" + ")" * N
    ((line, tree),) = read_trees([text], path="trees")
    assert tree.words() == ("a",) and format_tree(tree) == text
    assert parse_tree(text) == tree and hash(tree) == hash(parse_tree(text))
    return list(Cleaning().apply([Sentence(tree.words(), Source("trees", line), tree)]))


def _words() -> object:
    assert len(english_words("'" * N)) == N
    assert english_words("." * N) == ("." * N,)
    assert len(english_words("(" * N + "a" + ")" * N)) == 2 * N + 1
    return english_words("n't" * N)


_B = " " * N
CASES: dict[str, Callable[[], object]] = {
    "formula_blanks": lambda: Formula.parse(f"({_B}a{_B};{_B}%{_B}b{_B}%)"),
    "formula_open_blanks": lambda: Formula.parse(f"({_B}a{_B};{_B}%{_B}b"),
    "formula_sum": lambda: Formula.parse(" + ".join(["(a;%b%)"] * N)),
    "formula_brackets": lambda: Formula.parse("[" * N),
    "formula_alternating": lambda: Formula.parse("(a;%b%) > 1" + " & 1 > 2 | 2 > 1" * N),
    "formula_number": lambda: Formula.parse("9" * N),
    "model_formula_blanks": lambda: parse_model_formula("y ~" + " " * 15_000 + "x"),
    "model_formula_product": lambda: parse_model_formula(
        "y ~ " + "*".join(f"x{n}" for n in range(40))
    ),
    "model_formula_sum": lambda: parse_model_formula(
        "y ~ " + " + ".join(f"x{n}" for n in range(N))
    ),
    "model_formula_brackets": lambda: parse_model_formula("y ~ " + "(" * N),
    "yaml_suite_brackets": _file(load_yaml, "suite.yaml", "name: " + "[" * N),
    "yaml_suite_dashes": _file(load_yaml, "suite.yaml", "- " * N),
    "yaml_suite_bomb": _file(load_yaml, "suite.yaml", _BOMB),
    "yaml_config_brackets": _config("{a: " * N),
    "yaml_config_bomb": _config(_BOMB),
    "yaml_config_merges": _config(_MERGES),
    "yaml_config_twice": _config("seed: 1\nmodel: {name: a, name: b}\n"),
    "yaml_config_tag": _config("seed: !!python/object/apply:os.system [id]\n"),
    "yaml_config_self": _config("seed: &a [*a]\n"),
    "yaml_analysis_brackets": _file(load_analysis, "analysis.yaml", "[" * N),
    "json_suite_brackets": _file(load_syntaxgym, "suite.json", "[" * N),
    "json_suite_levels": _file(load_syntaxgym, "suite.json", '{"a":' * 900 + "1" + "}" * 900),
    "json_suite_surrogate": _file(load_syntaxgym, "suite.json", '{"meta": {"name": "\\ud800"}}'),
    "json_pairs_brackets": _file(load_blimp, "pairs.jsonl", "[" * N),
    "json_vocabulary_brackets": _file(Vocabulary.load, "vocabulary.json", '{"tokens": ' + "[" * N),
    "json_result_brackets": _result,
    "csv_long_cell": _file(load_climp, "pairs.csv", "sentence,label\n" + "他" * 200_000 + ",1\n"),
    "csv_open_quote": _file(load_syntaxgym_csv, "suite.csv", 'item_number,"' + "x\n" * N),
    "csv_columns": _file(load_climp, "pairs.csv", ",".join(["x"] * N) + "\n"),
    "grammar_variables": lambda: parse_grammar([*_FREE.splitlines(), _RULE], path="g.pcfg"),
    "grammar_weight": lambda: parse_grammar(["%start S", f"S : a*{'9' * N}"], path="g.pcfg"),
    "grammar_chain": lambda: parse_grammar(
        ["%start C0", *(f"C{n} -> C{n + 1}" for n in range(20_000)), "C20000 : a"], path="g.pcfg"
    ),
    "arpa_count": _file(read_arpa, "m.arpa", _ARPA.format("9" * 10_000, -1, -1)),
    "arpa_many": _file(read_arpa, "m.arpa", _ARPA.format(99_999_999_999, -1, -1)),
    "arpa_nan": _file(read_arpa, "m.arpa", _ARPA.format(3, "nan", -1)),
    "arpa_backoff": _file(read_arpa, "m.arpa", _ARPA.format(3, -1, "1e31")),
    "arpa_positive": _file(read_arpa, "m.arpa", _ARPA.format(3, 5, -1)),
    "arpa_order": _file(read_arpa, "m.arpa", _ARPA.replace("1-grams", "9" * 5000 + "-grams")),
    "tree_deep": _deep_tree,
    "tree_open": lambda: list(read_trees(["(A " * N], path="trees.txt")),
    "text_long_line": _file(read_given, "text.txt", "word " * (10 * N)),
    "text_separators": _file(read_given, "text.txt", "a\u2028b\x85c\x00d\u3000e\n"),
    "surprisal_number": _file(
        read_token_table, "t.tsv", "sentence_id\ttoken_id\ttoken\tsurprisal\n1\t1\ta\t" + "9" * N
    ),
    "words": _words,
    "suggestion": lambda: nearest("a" * N, ["a" * N + "b"] * 100),
}


def main() -> None:
    """Run all cases within limits of CPU time and memory."""
    resource.setrlimit(resource.RLIMIT_CPU, (120, 120))
    resource.setrlimit(resource.RLIMIT_AS, (16 * 2**30, 16 * 2**30))
    for name, read in CASES.items():
        before = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
        try:
            read()
            found = "read"
        except GardenpathError as error:
            found = str(error)
        seconds = sum(resource.getrusage(resource.RUSAGE_SELF)[:2]) - before
        print(json.dumps({"case": name, "found": found, "seconds": seconds}), flush=True)


if __name__ == "__main__":
    main()
