"""Every real file of a tool is read, or refused for a reason that a person would accept."""

from __future__ import annotations

import os
import re
import warnings
from pathlib import Path

import pytest

from seqtruth import io
from seqtruth.errors import DataWarning, InputError

FIXTURES = Path(
    os.environ.get("SEQTRUTH_FIXTURES", Path(__file__).parents[3] / "shared" / "fixtures")
)
#: Which files are refused (by their names), and what is said of them.
REFUSED = {
    r".*invalid\.conll": "columns where the lines before have",
    r"hf_datasets/multi_annotator_ner_tags\.jsonl": "does not say what they mean",
    r"hf_datasets/saved_to_disk/.*\.json": "looks like a part of a Hugging Face dataset's folder",
    r"wrench/wikigold/meta\.json": "looks like the meta.json of a WRENCH dataset",
    r".*typesystem\.xml": "looks like a UIMA type system",
    r".*label_config\.xml": "looks like a labelling configuration of Label Studio",
    r".*\.dtd": "looks like a DTD, the task of MAE",
    r"inception/.*": "must be chosen|has no text|begins inside|not in the text",
    r"label_studio/(ls|sdk)_tests/.*": "holds no spans of text",
    r"sagemaker/consolidation_payload_per_worker_bbox\.json": "the text is not in the file",
    r"tagtog/formatted\.ann\.json": "the text is not in an .ann.json file",
}
FILES = sorted(path for path in FIXTURES.rglob("*") if path.is_file() and path.name != "README.md")


@pytest.mark.skipif(not FILES, reason=f"no tools' files at {FIXTURES} (set SEQTRUTH_FIXTURES)")
@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(FIXTURES)))
def test_read_or_refused(path: Path) -> None:
    name = path.relative_to(FIXTURES).as_posix()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        try:
            crowd = io.read(path)
        except InputError as error:
            reasons = [why for pattern, why in REFUSED.items() if re.fullmatch(pattern, name)]
            assert any(re.search(why, str(error)) for why in reasons), str(error)
        else:
            assert crowd.n_sentences
