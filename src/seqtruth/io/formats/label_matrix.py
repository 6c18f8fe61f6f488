"""Label matrices as Snorkel has them: a row per item, a column per labelling function, -1 where it abstains.

Read are ``.npz`` and ``.npy`` files of NumPy (nothing in them is unpickled) and sparse matrices saved by
SciPy. The matrix is the array ``L``, ``L_train``, ``label_matrix`` or ``weak_labels``, or the only one with
two dimensions. An item is a token; without more it is a task of its own. Further arrays are optional::

    lf_names           names of the columns            label_names   what the numbers mean: "O", "B-PER" ...
    sentence_lengths   tokens of each sentence         ids           names of the sentences
    tokens             texts of the items

``abstain=0`` reads matrices of Snorkel before 0.9, in which 0 was silence. Written is the same, all arrays.
"""

from __future__ import annotations

import io
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seqtruth.atomic import atomic_path
from seqtruth.data.crowd import Crowd
from seqtruth.errors import DataError, InputError
from seqtruth.io.assemble import Columns, assemble, make_corpus, offsets_of
from seqtruth.io.files import read_bytes
from seqtruth.io.format import Glimpse
from seqtruth.io.formats.conll.columns import rows_of
from seqtruth.io.tree import Tree

_MATRICES = ("L", "L_train", "label_matrix", "weak_labels", "arr_0")
_SPARSE = frozenset(("data", "indices", "indptr", "shape"))
_MAGIC = b"\x93NUMPY"
_NO_TIME = (1980, 1, 1, 0, 0, 0)
Arrays = dict[str, npt.NDArray[Any]]


def tell_matrix(glimpse: Glimpse) -> float:
    """An archive of arrays, or one array."""
    if glimpse.head[:6] == _MAGIC:
        return 0.9
    if glimpse.path.is_dir() or glimpse.tree is None:
        return 0.0
    names = list(glimpse.tree)
    return (
        0.9 if names and all(name.endswith(".npy") and "/" not in name for name in names) else 0.0
    )


def read_matrix(path: Path, scheme: str | None = None, *, abstain: int = -1) -> Crowd:
    """Read a label matrix; columns are annotators."""
    where = str(path)
    arrays = _arrays(path)
    matrix = _matrix(arrays, abstain, where)
    n, width = matrix.shape
    largest = int(matrix.max(initial=-1))
    labels = _texts(arrays, "label_names", where) or [str(code) for code in range(largest + 1)]
    if largest >= len(labels):
        raise InputError(
            "the matrix has a number without a name", where=where,
            got=f"{largest}, and {len(labels)} label_names",
        )  # fmt: skip
    names = _texts(arrays, "lf_names", where) or [str(k + 1) for k in range(width)]
    lengths = arrays.get("sentence_lengths", np.ones(n, np.int64))
    whole = lengths.ndim == 1 and lengths.dtype.kind in "iu" and (lengths >= 0).all()
    if not whole or int(lengths.sum()) != n:
        raise InputError(f"sentence_lengths must add up to the {n} rows of the matrix", where=where)
    ids = _texts(arrays, "ids", where) or [str(k) for k in range(len(lengths))]
    words = _texts(arrays, "tokens", where)
    for what, some, wanted in (
        ("lf_names", names, width), ("ids", ids, len(lengths)), ("tokens", words, n if words else 0),
    ):  # fmt: skip
        if len(some) != wanted:
            raise InputError(f"{what} must have {wanted} entries", where=where, got=str(len(some)))
    if not n or not width:
        raise InputError("the matrix is empty", where=where, got=f"{n} rows, {width} columns")
    offsets = offsets_of(lengths.astype(np.int64))
    tokens = pa.array(words, pa.large_string()) if words else None
    corpus = make_corpus(where, offsets, ids, tokens, [""] * len(ids))
    sentence, annotator, tags = rows_of(offsets, matrix)

    def place(sentence: int, token: int, annotator: int) -> str:
        return f"{where}: row {int(offsets[sentence]) + token}, column {annotator}"

    columns = Columns(where, corpus, names, labels, sentence, annotator, tags, place)
    return assemble(columns, scheme)


def _arrays(path: Path) -> Arrays:
    """All arrays of a file; none of objects, which would have to be unpickled."""
    if Glimpse(path).tree is None:
        return {"arr_0": _array(read_bytes(path), str(path))}
    tree = Tree(path)
    return {name.removesuffix(".npy"): _array(tree.read(name), tree.where(name)) for name in tree}


def _array(data: bytes, where: str) -> npt.NDArray[Any]:
    file = io.BytesIO(data)
    try:
        version = np.lib.format.read_magic(file)
        header = (
            np.lib.format.read_array_header_1_0(file)
            if version == (1, 0)
            else np.lib.format.read_array_header_2_0(file)
        )
        shape, _, kind = header
        if kind.hasobject:
            raise InputError(
                "an array of Python objects, which would run code when opened", where=where,
                fix="save numbers, and names as text: np.array(names, str)",
            )  # fmt: skip
        size = kind.itemsize
        for length in shape:
            size *= length
        if min(shape, default=0) < 0 or size > len(data):
            raise InputError("the array is cut off", where=where, got=f"shape {shape}"[:60])
        file.seek(0)
        return np.asarray(np.lib.format.read_array(file, allow_pickle=False))
    except InputError:
        raise
    except Exception as error:  # of NumPy, ast and tokenize, which share no base class
        raise InputError("not an array of NumPy", where=where, got=str(error)[:80]) from None


def _matrix(arrays: Arrays, abstain: int, where: str) -> npt.NDArray[np.int32]:
    if arrays.keys() >= _SPARSE:
        found, silent = _dense(arrays, where), 0
    else:
        flat = [name for name, array in arrays.items() if array.ndim == 2]
        name = next(
            (name for name in _MATRICES if name in flat), flat[0] if len(flat) == 1 else None
        )
        if name is None:
            shapes = ", ".join(f"{key} {array.shape}" for key, array in arrays.items())
            raise InputError(
                "there is no label matrix (items by functions)", where=where, got=shapes[:120],
                fix=f"name it {', '.join(_MATRICES[:4])}",
            )  # fmt: skip
        found, silent = arrays[name], abstain
    if found.dtype.kind == "f":
        found = np.where(np.isnan(found), silent, found)
        if not np.isfinite(found).all() or (found != np.trunc(found)).any():
            raise InputError("the matrix must hold whole numbers", where=where)
    elif found.dtype.kind not in "iub":
        raise InputError("the matrix must hold numbers", where=where, got=str(found.dtype))
    if found.size and (found.min() < -1 or found.max() > 32_000):
        got = f"{found.min()} to {found.max()}"
        raise InputError("labels must be numbers from 0, or -1", where=where, got=got)
    whole = found.astype(np.int32)
    if silent == 0:  # 1 is the first label
        return np.ascontiguousarray(whole - 1)
    return np.ascontiguousarray(np.where(whole == silent, -1, whole))


def _dense(arrays: Arrays, where: str) -> npt.NDArray[Any]:
    """A sparse matrix of rows (CSR), as ``scipy.sparse.save_npz`` writes it."""
    data, indices, indptr, shape = (arrays[name] for name in ("data", "indices", "indptr", "shape"))
    fine = shape.shape == (2,) and all(
        x.ndim == 1 and x.dtype.kind in "iu" for x in (indices, indptr)
    )
    if not fine or len(indptr) != int(shape[0]) + 1 or len(data) != len(indices):
        raise InputError("only sparse matrices of rows (CSR) are read", where=where)
    rows, width = int(shape[0]), int(shape[1])
    inside = (np.diff(indptr.astype(np.int64)) >= 0).all() and int(indptr[0]) == 0
    if not inside or int(indptr[-1]) != len(data) or rows * max(width, 1) > 1 << 32:
        raise InputError("the sparse matrix is damaged", where=where)
    if len(indices) and not 0 <= int(indices.min()) <= int(indices.max()) < width:
        raise InputError("the sparse matrix is damaged", where=where)
    found = np.zeros((rows, width), data.dtype)
    found[np.repeat(np.arange(rows), np.diff(indptr)), indices] = data
    return found


def _texts(arrays: Arrays, name: str, where: str) -> list[str]:
    found = arrays.get(name)
    if found is None:
        return []
    if found.ndim != 1 or found.dtype.kind not in "US":
        raise InputError(f"{name} must be a list of texts", where=where, got=str(found.dtype))
    try:
        if found.dtype.kind == "U" and not _are_characters(found):
            raise UnicodeError
        texts = found.astype(str).tolist()
    except UnicodeError:
        raise InputError(f"{name} is not text", where=where) from None
    return [str(text) for text in texts]


def _are_characters(texts: np.ndarray) -> bool:
    """Whether all of an array of texts are Unicode's characters: NumPy keeps any numbers in them."""
    native = np.ascontiguousarray(texts, texts.dtype.newbyteorder("="))
    if not native.size or not native.itemsize:
        return True
    codes = native.view(np.uint32)
    return bool(((codes < 0xD800) | ((codes > 0xDFFF) & (codes <= sys.maxunicode))).all())


def write_matrix(crowd: Crowd, path: Path) -> None:
    """Write ``.npz``; who saw a sentence without giving any tag cannot be said."""
    corpus = crowd.corpus
    if not crowd.n_annotators or not corpus.n_tokens:
        raise DataError("a crowd without annotators or tokens has no label matrix")
    matrix = np.full((corpus.n_tokens, crowd.n_annotators), -1, np.int32)
    lengths = np.diff(crowd.row_offsets)
    within = np.arange(int(lengths.sum())) - np.repeat(crowd.row_offsets[:-1], lengths)
    token = np.repeat(corpus.token_offsets[crowd.row_sentence], lengths) + within
    matrix[token, np.repeat(crowd.row_annotator, lengths)] = crowd.tags
    arrays: Mapping[str, Any] = {
        "L": matrix,
        "lf_names": np.array(crowd.annotators, str),
        "label_names": np.array(crowd.scheme.labels, str),
        "sentence_lengths": np.diff(corpus.token_offsets),
        "ids": np.array(corpus.sentence_ids.to_pylist(), str),
    }
    if corpus.tokens is not None:
        arrays = {**arrays, "tokens": np.array(corpus.tokens.to_pylist(), str)}
    with atomic_path(path) as temporary, zipfile.ZipFile(temporary, "w") as file:
        for name, array in arrays.items():
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, array, allow_pickle=False)
            info = zipfile.ZipInfo(f"{name}.npy", _NO_TIME)
            info.compress_type = zipfile.ZIP_DEFLATED
            file.writestr(info, buffer.getvalue())
