"""The Spark engine on two cores of this machine: the same sums and labels as the crowd in memory."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

import seqtruth as st
from seqtruth.data.crowd import Crowd
from seqtruth.engine import spark as engine
from seqtruth.engine.base import Labels, Sums
from seqtruth.engine.spark import SparkParts, is_spark_frame
from seqtruth.errors import InputError, ParameterError
from seqtruth.io.longtable.write import token_table
from seqtruth.methods import make_method
from seqtruth.methods.vote.weighted import weighted_vote

pytest.importorskip("pyspark", reason="pyspark is not installed")
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("Spark needs Java", allow_module_level=True)

from pyspark.sql import DataFrame, SparkSession

from tests.engine.specs import EVERYWHERE

# One session for all of them, on one of the processes.
pytestmark = pytest.mark.xdist_group("spark")
LABELS = ("B-LOC", "B-PER", "I-LOC", "I-PER", "O")


@pytest.fixture(scope="module")
def spark():
    losses(some_crowd())  # compiled once here, so that Spark's Python workers need not
    os.environ["PYSPARK_PYTHON"] = sys.executable
    source = str(Path(engine.__file__).resolve().parents[2])
    session = (
        SparkSession.builder.master("local[2,4]")  # four attempts at every task
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.memory", "1g")
        .config("spark.executorEnv.PYTHONPATH", source)
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "7")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def some_crowd(n: int = 60, seed: int = 0, documents: int = 1) -> Crowd:
    """Sentences by three to five of six annotators; document 0 holds most of them, one is empty."""
    rng = np.random.default_rng(seed)
    words = [[f"w{i}" for i in rng.integers(0, 50, rng.integers(1, 9))] for _ in range(n)]
    words[3] = []
    corpus = st.Corpus.of(
        words,
        [f"s{i}" for i in rng.permutation(n)],
        [f"d{max(0, i - n + documents)}" for i in range(n)],
    )
    truth = [rng.integers(0, len(LABELS), len(sentence)) for sentence in words]
    sentence, annotator, tags = [], [], []
    for s in range(1, n):  # nobody saw sentence 0
        for w in sorted(rng.choice(6, rng.integers(3, 6), replace=False)):
            noise = rng.random(len(words[s])) < 0.1 * (w + 1)
            given = np.where(noise, rng.integers(-1, len(LABELS), len(words[s])), truth[s])
            sentence.append(s), annotator.append(w), tags.append(given)
    names = ["fay", "eve", "dan", "cyd", "bob", "ann"]
    return Crowd.build(corpus, LABELS, names, sentence, annotator, np.concatenate(tags), "iob2")


def frame_of(spark: SparkSession, crowd: Crowd) -> DataFrame:
    table = token_table(crowd, None)
    names = table.column_names
    return spark.createDataFrame(
        [tuple(row[name] for name in names) for row in table.to_pylist()],
        ", ".join(f"{name} {'int' if name == 'token_index' else 'string'}" for name in names),
    ).repartition(3)


@pytest.fixture(scope="module")
def crowd() -> Crowd:
    return some_crowd(documents=5)


@pytest.fixture(scope="module")
def parts(spark, crowd) -> SparkParts:
    return SparkParts.of(frame_of(spark, crowd), partitions=2)


def by_name(annotators: tuple[str, ...], values: np.ndarray) -> dict[str, object]:
    return dict(zip(annotators, values.tolist(), strict=True))


def losses(crowd: Crowd) -> Sums:
    vote = weighted_vote(
        crowd, np.ones(crowd.n_annotators), np.ones(crowd.n_labels), decoding="exact"
    )
    return {"losses": vote.losses, "stakes": vote.stakes}


def majority(crowd: Crowd) -> Labels:
    vote = weighted_vote(
        crowd, np.ones(crowd.n_annotators), np.ones(crowd.n_labels), decoding="exact"
    )
    tags = np.where(np.repeat(crowd.covered, np.diff(crowd.corpus.token_offsets)), vote.tags, -1)
    return Labels(tags.astype(np.int8), vote.probabilities.max(axis=1, initial=0))


def test_facts(parts, crowd):
    facts = parts.facts
    assert facts.scheme == crowd.scheme
    assert facts.annotators == tuple(sorted(crowd.annotators))
    assert facts.has_text
    assert (facts.n_sentences, facts.n_tokens) == (crowd.n_sentences, crowd.n_tokens)
    assert facts.n_annotations == (crowd.tags >= 0).sum()
    for mine, theirs in (
        (facts.annotator_sentences, crowd.annotator_sentences),
        (facts.annotator_tokens, crowd.annotator_tokens),
    ):
        assert by_name(facts.annotators, mine) == by_name(crowd.annotators, theirs)


def test_facts_do_not_depend_on_layout(spark, parts, crowd, tmp_path):
    other = SparkParts.of(frame_of(spark, crowd), partitions=3, checkpoint_dir=str(tmp_path))
    assert other.facts.digest == parts.facts.digest
    half = SparkParts.of(frame_of(spark, crowd[: crowd.n_sentences // 2]), partitions=2)
    assert half.facts.digest != parts.facts.digest
    found = other.add_up(losses)["losses"]
    assert np.allclose(found, parts.add_up(losses)["losses"], rtol=1e-12)


def test_sums_are_those_of_the_whole_crowd(parts, crowd):
    found, expected = parts.add_up(losses), losses(crowd)
    for name, array in found.items():
        mine, theirs = by_name(parts.annotators, array), by_name(crowd.annotators, expected[name])
        assert mine == pytest.approx(theirs, rel=1e-9)


def test_the_driver_gets_sums_and_nothing_else(spark, crowd, monkeypatch):
    received = []

    def collect(frame: DataFrame) -> list[object]:
        rows = list(frame.collect())
        received.append(len(rows))
        return rows

    monkeypatch.setattr(engine, "_collect", collect)
    for n in (1, 4):
        whole = Crowd.concat([renamed(crowd, i) for i in range(n)])
        parts = SparkParts.of(frame_of(spark, whole), partitions=2)
        parts.add_up(losses)
    assert received[: len(received) // 2] == received[len(received) // 2 :]
    assert max(received) <= 20


def renamed(crowd: Crowd, number: int) -> Crowd:
    """The same sentences under other names."""
    from dataclasses import replace

    ids = [f"{name}-{number}" for name in crowd.corpus.sentence_ids.to_pylist()]
    return replace(crowd, corpus=replace(crowd.corpus, sentence_ids=pa.array(ids)))


def test_executors_may_add_up_first(parts, monkeypatch):
    direct = parts.add_up(losses)
    monkeypatch.setattr(engine, "DRIVER_BYTES", 0)
    merged = parts.add_up(losses)
    assert all(np.array_equal(direct[name], merged[name]) for name in direct | merged)


def test_a_killed_python_annotator_changes_nothing(parts, tmp_path):
    marker = tmp_path / "killed"

    def killing(crowd: Crowd) -> Sums:
        if not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return losses(crowd)

    expected, found = parts.add_up(losses), parts.add_up(killing)
    assert marker.exists()
    for name, array in expected.items():
        assert found[name].tobytes() == array.tobytes()


def test_labels_written_are_those_of_the_whole_crowd(parts, crowd, tmp_path):
    parts.write(majority, tmp_path / "labels")
    table = ds.dataset(tmp_path / "labels", format="parquet").to_table()
    found = st.read(table, scheme="iob2")
    assert found.annotators == ("truth",)
    expected = majority(crowd)
    assert labels_of(found.corpus, found.labelling().tags, found.scheme.labels) == labels_of(
        crowd.corpus, expected.tags, crowd.scheme.labels
    )
    rows = {(row["task"], row["token_index"]): row for row in table.to_pylist()}
    assert len(rows) == table.num_rows
    offsets, confidence = crowd.corpus.token_offsets, expected.confidence
    for s, name in enumerate(crowd.corpus.sentence_ids.to_pylist()):
        for i in range(offsets[s + 1] - offsets[s]):
            assert rows[name, i]["confidence"] == pytest.approx(confidence[offsets[s] + i])
            assert rows[name, i]["token"] == crowd.corpus.words(s)[i]
            assert rows[name, i]["doc"] == document(crowd, s)
    with pytest.raises(InputError, match="already exists"):
        parts.write(majority, tmp_path / "labels")


def document(crowd: Crowd, sentence: int) -> str:
    return crowd.corpus.documents[crowd.corpus.sentence_document[sentence]]


def labels_of(corpus: st.Corpus, tags: np.ndarray, labels: tuple[str, ...]) -> dict[str, list[str]]:
    spelled = [*labels, ""]
    offsets = corpus.token_offsets
    return {
        name: [spelled[tag] for tag in tags[offsets[s] : offsets[s + 1]]]
        for s, name in enumerate(corpus.sentence_ids.to_pylist())
    }


def test_more_partitions_than_tasks_and_an_annotator_without_labels(spark):
    crowd = Crowd.of(
        {"ann": [["B-PER", "O"]], "bob": [[None, None]], "cyd": [["O", "O"]]}, tokens=[["a", "b"]]
    )
    parts = SparkParts.of(frame_of(spark, crowd), partitions=6)
    assert by_name(parts.annotators, parts.facts.annotator_tokens) == {"ann": 2, "bob": 0, "cyd": 2}
    assert by_name(parts.annotators, parts.facts.annotator_sentences) == {
        "ann": 1,
        "bob": 1,
        "cyd": 1,
    }
    assert np.array_equal(parts.add_up(losses)["losses"], losses(crowd)["losses"])


def test_unanimous_labels_of_one_big_document_come_back(spark, monkeypatch):
    monkeypatch.setattr(engine, "PARTITION_ROWS", 100)
    rng = np.random.default_rng(3)
    tags = [["O", "B-PER", "I-PER"][: n + 1] for n in rng.integers(0, 3, 200)]
    words = [["w"] * len(sentence) for sentence in tags]
    crowd = Crowd.of({"ann": tags, "bob": tags}, tokens=words)
    corpus = st.Corpus.of(words, None, ["huge"] * 199 + ["small"])
    crowd = Crowd(
        corpus, crowd.scheme, crowd.annotators, crowd.row_sentence, crowd.row_annotator, crowd.tags
    )
    parts = SparkParts.of(frame_of(spark, crowd), partitions=2)
    held = parts.add_up(lambda part: {"parts": np.array([1]), "most": np.array([part.n_sentences])})
    assert held["parts"][0] == 2, "the document is spread over both partitions"
    rows = parts.labels(majority).collect()
    expected = {
        (str(s), i): tag for s, sentence in enumerate(tags) for i, tag in enumerate(sentence)
    }
    assert {(row["task"], row["token_index"]): row["label"] for row in rows} == expected


@pytest.mark.parametrize("kind", ["iob1", "plain"])
def test_schemes_are_detected_as_in_memory(spark, kind):
    tags = {
        "iob1": [["I-X", "I-X", "B-X", "O"], ["O", "I-X"]],
        "plain": [["NOUN", "VERB", "X", "X"], ["X", "VERB"]],
    }[kind]
    crowd = Crowd.of({"ann": tags}, tokens=[["a", "b", "c", "d"], ["e", "f"]])
    assert crowd.scheme.kind == kind
    parts = SparkParts.of(frame_of(spark, crowd), partitions=2)
    assert parts.scheme == crowd.scheme


def test_tables_without_text_documents_and_places(spark):
    rows = [("t1", 1, "cat"), ("t1", 2, "dog"), ("t2", 1, "cat")]
    frame = spark.createDataFrame(rows, "task string, worker int, label string")
    parts = SparkParts.of(frame, scheme="plain")
    facts = parts.facts
    assert (facts.n_sentences, facts.n_tokens, facts.has_text) == (2, 2, False)
    assert facts.annotators == ("1", "2")
    assert parts.labels(majority).columns == [
        "task",
        "worker",
        "token_index",
        "label",
        "confidence",
    ]


def test_read_by_path_and_by_name(spark, crowd, parts, tmp_path):
    frame = frame_of(spark, crowd)
    frame.write.parquet(str(tmp_path / "long"))
    assert SparkParts.read(str(tmp_path / "long")).facts.digest == parts.facts.digest
    frame.createOrReplaceTempView("annotations")
    named = SparkParts.read("annotations", spark, format="table").seeing_text()
    assert named.facts.digest == parts.facts.digest
    words = named.add_up(
        lambda part: {"words": np.array([len(set(part.corpus.tokens.to_pylist()))])}
    )
    assert words["words"][0] > 0


def test_faults_are_told_as_ours(spark, tmp_path):
    def parts(rows: list[tuple[object, ...]], columns: str = "token_index int") -> SparkParts:
        schema = f"task string, worker string, {columns}, label string"
        return SparkParts.of(spark.createDataFrame(rows, schema))

    with pytest.raises(InputError, match=r"^task 't' has no row for token 0"):
        parts([("t", "a", 1, "O"), ("t", "b", 1, "O")])
    with pytest.raises(InputError, match="no rows"):
        parts([])
    with pytest.raises(InputError, match="whole numbers"):
        parts([("t", "a", 0.5, "O")], "token_index double")
    with pytest.raises(InputError, match="'worker' is missing"):
        SparkParts.of(spark.createDataFrame([("t", "O")], "task string, label string"))
    with pytest.raises(InputError, match="spans"):
        parts([("t", "a", 0, 1, "O")], "start int, end int")
    with pytest.raises(InputError, match="not IOB2"):
        SparkParts.of(
            spark.createDataFrame(
                [("t", "a", "X-PER")], "task string, worker string, label string"
            ),
            scheme="iob2",
        )
    with pytest.raises(InputError, match="Path does not exist"):
        SparkParts.read(str(tmp_path / "nothing"))
    with pytest.raises(ParameterError, match="partitions"):
        SparkParts.of(spark.range(1), partitions=0)


def test_frames_are_known(spark, crowd):
    assert is_spark_frame(spark.range(1))
    assert not is_spark_frame(token_table(crowd, None).to_pandas())
    assert not is_spark_frame("table")


@pytest.mark.parametrize("spec", EVERYWHERE)
@pytest.mark.filterwarnings("ignore::seqtruth.errors.ConvergenceWarning")
def test_one_specification_gives_the_labels_made_in_memory(parts, crowd, spec):
    method = make_method(spec)
    whole, found = method.fit(crowd), method.fit(parts)
    for column in ("weight", "agreement"):
        mine = by_name(parts.annotators, getattr(found.annotators, column))
        theirs = by_name(crowd.annotators, getattr(whole.annotators, column))
        assert mine == pytest.approx(theirs, rel=1e-6)
    rows = parts.labels(found.label).where("token_index is not null").collect()
    expected = labels_of(crowd.corpus, whole.tags, crowd.scheme.labels)
    assert {(row["task"], row["token_index"]): row["label"] or "" for row in rows} == {
        (name, i): label for name, labels in expected.items() for i, label in enumerate(labels)
    }


@pytest.mark.filterwarnings("ignore::seqtruth.errors.ConvergenceWarning")
def test_a_frame_and_a_tagger(spark):
    crowd = some_crowd(documents=40)
    frame = frame_of(spark, crowd)
    assert st.MajorityVote().fit(frame).parts.facts.n_tokens == crowd.n_tokens
    method = st.AggSLC(predictor=st.predictors.CRF(max_iter=3), threshold=0.2, max_iter=2)
    found = method.fit(SparkParts.of(frame, partitions=2))
    assert found.tagger is not None
    labelled = {row["task"] for row in found.parts.labels(found.label).collect() if row["label"]}
    names = np.array(crowd.corpus.sentence_ids.to_pylist())
    assert labelled >= set(names[crowd.covered].tolist())
