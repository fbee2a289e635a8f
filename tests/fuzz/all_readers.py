"""All fuzzed readers by name."""

from __future__ import annotations

from collections.abc import Mapping

from tests.fuzz.corpus_readers import CORPUS_READERS
from tests.fuzz.form_readers import FORM_READERS
from tests.fuzz.raw_readers import RAW_READERS
from tests.fuzz.reader import Reader
from tests.fuzz.run_readers import RUN_READERS
from tests.fuzz.suite_readers import SUITE_READERS
from tests.fuzz.table_readers import TABLE_READERS

READERS: Mapping[str, Reader] = {
    reader.name: reader
    for reader in (
        *CORPUS_READERS,
        *RAW_READERS,
        *SUITE_READERS,
        *TABLE_READERS,
        *FORM_READERS,
        *RUN_READERS,
    )
}
