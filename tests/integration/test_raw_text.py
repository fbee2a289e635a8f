"""Raw news → trees by a trained RNNG → a new RNNG on them and the treebank → surprisals."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from gardenpath.data.readers.files import BracketFiles, ToyTreebank
from gardenpath.runs.find import load
from tests.integration.commands import call
from tests.integration.miniature import paths, write_corpora

_SMALL = (
    "model=rnng",
    "trainer=cpu",
    "trainer.max_epochs=1",
    "model.network.layers=1",
    "model.network.hidden=8",
)
_NARROW = ("search.action_beam=10", "search.word_beam=3")
_ARTICLE = """\
<DOC id="{number}">
<HEADLINE>
不 要 标题 。
</HEADLINE>
<TEXT>
<P>
{text}
</P>
</TEXT>
</DOC>
"""


def write_news(folder: Path) -> list[tuple[str, ...]]:
    """Write articles of a few sentences in GB18030; return the different sentences."""
    toy = ToyTreebank(grammar="mandarin", seed=11, train=60)
    sentences = [one.words for one in toy.read("train")]
    assert all(words[-1] == "。" for words in sentences)
    folder.mkdir()
    for number in range(0, len(sentences), 6):
        text = "\n".join(" ".join(words) for words in sentences[number : number + 6])
        article = _ARTICLE.format(number=number, text=text).encode("gb18030")
        (folder / f"xin_{number:03d}.sgm").write_bytes(article)
    return list(dict.fromkeys(sentences))


def test_from_raw_news_to_surprisals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_corpora(tmp_path / "corpora")
    (tmp_path / "corpora" / "xinhua" / "train.txt").unlink()
    (tmp_path / "corpora" / "xinhua").rmdir()
    common = (*paths(tmp_path), f"paths.runs={tmp_path / 'runs'}")
    # Without the parsed news, the message names the command that makes them.
    assert call("train.py", "data=xinhua", *_SMALL, *common) == 2
    said = capsys.readouterr().err
    assert "task=annotate" in said and f"output={tmp_path / 'corpora' / 'xinhua'}" in said
    # A parser is trained on the treebank, and parses the news.
    assert call("train.py", "data=ctb", *_SMALL, *common) == 0
    parser = tmp_path / "runs" / "ctb" / "rnng" / "seed1"
    sentences = write_news(tmp_path / "news")
    xinhua = tmp_path / "corpora" / "xinhua"
    code = call(
        "evaluate.py", "task=annotate", f"input={tmp_path / 'news'}", "segmenter=whitespace",
        f"parser={parser}", f"output={xinhua}", "task.processes=1", "task.allow_unknown=true",
        *_NARROW,
    )  # fmt: skip
    assert code == 0
    parsed = list(BracketFiles(root=str(xinhua)).read("train"))
    assert [one.words for one in parsed] == sentences
    # The news is added to the training split of the treebank, with one vocabulary.
    assert call("train.py", "data=xinhua", *_SMALL, *common) == 0
    run = load(tmp_path / "runs" / "xinhua" / "rnng" / "seed1", device="cpu")
    ends = [one.vocabulary.counts[one.vocabulary.ids["。"]] for one in (load(parser), run)]
    assert ends == [60, 60 + len(sentences)]
    (tmp_path / "input.txt").write_text(" ".join(sentences[0]) + "\n", encoding="utf-8")
    code = call(
        "evaluate.py", "task=surprisal", f"input={tmp_path / 'input.txt'}", f"run={run.path}",
        f"output={tmp_path / 'results'}", f"paths.surprisals={tmp_path / 's.sqlite'}",
        *paths(tmp_path), *_NARROW,
    )  # fmt: skip
    assert code == 0
    table = pd.read_csv(tmp_path / "results" / "surprisal.tsv", sep="\t", comment="#")
    assert len(table) == len(sentences[0]) + 1
    assert (table["surprisal_bits"] > 0).all()
