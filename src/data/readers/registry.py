"""The readers of corpora on disk, by the name used in configurations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gardenpath.data.readers.ctb import ChineseTreebank
from gardenpath.data.readers.gum import GumTreebank
from gardenpath.data.readers.lines import BracketFiles, TextFiles
from gardenpath.data.readers.nltk_corpora import PennTreebankSample, SinicaTreebank
from gardenpath.data.readers.ptb import PennTreebank
from gardenpath.data.readers.toy import ToyTreebank

SINGLE_READERS: Mapping[str, Any] = {
    "toy": ToyTreebank,
    "ptb": PennTreebank,
    "ptb_sample": PennTreebankSample,
    "ctb": ChineseTreebank,
    "sinica": SinicaTreebank,
    "gum": GumTreebank,
    "brackets": BracketFiles,
    "text": TextFiles,
}
