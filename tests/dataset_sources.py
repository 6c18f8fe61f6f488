"""Archives in the shapes of the data sets' public sources, made on the spot, and a server for them."""

from __future__ import annotations

import io
import json
import tarfile
import threading
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

Lines = Sequence[tuple[str, str]]


def conll(sentences: Sequence[Lines]) -> str:
    """Lines ``token label``, a blank one behind every sentence."""
    return "".join("".join(f"{t} {label}\n" for t, label in one) + "\n" for one in sentences)


def zipped(files: Mapping[str, str | bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return buffer.getvalue()


def tarred(files: Mapping[str, str]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content.encode())
            archive.addfile(info, io.BytesIO(content.encode()))
    return buffer.getvalue()


HARBOUR = [
    [("Oslo", "B-LOC"), ("harbour", "O"), ("opens", "O"), (".", "O")],
    [("U.S.", "B-LOC"), ("ships", "O"), ("reach", "O"), ("North", "B-LOC"), ("Quay", "I-LOC")],
]
MARKET = [
    [("BERGEN", "B-LOC"), ("1999-01-01", "O")],
    [("Fjord", "B-ORG"), ("Bank", "I-ORG"), ("rises", "O"), ("1-1/4", "O"), ("points", "O")],
    [("Norwegian", "B-MISC"), ("Cup", "O"), ("winners", "O"), ("cheer", "O")],
]
NOBODY = [[("BERGEN", "B-LOC"), ("1999-01-01", "O")]]
DOCS = {"val": {"doc-a": HARBOUR, "doc-z": NOBODY}, "test": {"doc-b": MARKET}}


def ner_files(root: str = "task1") -> dict[str, str]:
    """The repository's archive, every annotator with another quirk."""
    files = {
        f"{root}/{part}/ground_truth/{doc}.txt": conll(sentences)
        for part, docs in DOCS.items()
        for doc, sentences in docs.items()
    }
    crowd = f"{root}/{{}}/mturk_train_data/{{}}/{{}}.txt"
    files[crowd.format("val", "W1exact", "doc-a")] = conll(HARBOUR)
    files[crowd.format("val", "W2suffix", "doc-a")] = (
        "Oslo/LOC B-LOC\nharbour/ O\nopens O\n. O\n\n"
        "U.S./B I-LOC\nships O\nreach O\nNorth/LOC B-LOC\nQuay/I I-LOC\n\n"
    )
    files[crowd.format("val", "W3retok", "doc-a")] = (
        "Oslo B-LOC\nharbour O\nopens. I-PER\n\n"
        "U.S B-LOC\n. I-LOC\nships O\nreach O\nNorth B-LOC\nQuay I-LOC\n"
    )
    files[crowd.format("val", "W4emptyline", "doc-a")] = (
        "Oslo B-LOC\n\nharbour O\nopens O\n. O\n\n"
        "U.S. B-LOC\nships O\nreach O\n O\nNorth B-LOC\nQuay I-LOC\n"
    )
    files[crowd.format("test", "W1exact", "doc-b")] = conll(MARKET)
    files[crowd.format("test", "W5fuzzy", "doc-b")] = (
        "BERGEN B-LOC\n1999-01-01 ?\n\nFjord B-ORG\nBanc I-ORG\nrises O\n1-1/4 O\npoints O\n\n"
    )
    files[f"__MACOSX/{root}/val/ground_truth/._doc-a.txt"] = "\0\0"
    files[f"{root}/README"] = "nothing to read here"
    return files


def released(*sentences: Lines) -> str:
    return conll(sentences)


def conll2003_files() -> dict[str, str]:
    """As in the common copies: four columns, documents marked, one split in IOB1."""
    start = "-DOCSTART- -X- -X- O\n\n"
    row = "{} NN B-NP {}\n"
    train = [[("Norwegian", "I-MISC"), ("Cup", "B-MISC"), ("winners", "O"), ("cheer", "O")]]
    valid = [[("Oslo", "I-LOC"), ("Fjord", "B-LOC"), ("sleeps", "O")], [("Ada", "I-PER")]]
    test = [[("Bergen", "B-LOC"), ("wakes", "O")]]
    return {
        name: start
        + "\n".join("".join(row.format(t, label) for t, label in one) for one in sentences)
        for name, sentences in (("train.txt", train), ("valid.txt", valid), ("test.txt", test))
    }


def ner_sources() -> dict[str, bytes]:
    """All sources of the data set ``ner`` by the names they are kept under."""
    gold = released(MARKET[0], MARKET[1], HARBOUR[1])
    votes = released(
        [(token, "O") for token, _ in MARKET[0]], MARKET[1], [(t, "O") for t, _ in HARBOUR[1]]
    )
    return {
        "crowd.archive": zipped(ner_files()),
        "aggslc-gold.txt": gold.encode(),
        "aggslc-mv.txt": votes.encode(),
        "optsla-gold.txt": released(HARBOUR[0], MARKET[2]).encode(),
        "conll2003.zip": zipped(conll2003_files()),
    }


ABSTRACT = "Rest helps.\n\nTwo old men and 5 women slept. They woke.\n\n"


def pico_sources(numbered: bool = True) -> dict[str, bytes]:
    """All sources of the data set ``pico``; without document numbers as in its first edition."""
    first, second = ABSTRACT.index("Two"), ABSTRACT.index("5 women")
    crowd = [
        {"Participants": {"W1": [[first, first + 11], [first + 11, second + 7]]}, "docid": "11"},
        {"Participants": {"W2": [[first, first + 5]], "W1": [[0, 4]]}, "docid": "12"},
        {"Participants": {"W2": [[0, 4]]}, "docid": "13"},
    ]
    two_words = [[first, first + 3], [first + 4, first + 7]]
    experts = [
        {"Participants": {"md2": [[0, 4]], "AXQIZSZFYCA8T": two_words}, "docid": "11"},
        {"Participants": {"md2": [[second, second + 7]]}, "docid": "12"},
        {"Participants": {}, "docid": "13"},
    ]
    root = "PICO-data-0/"
    files = {f"{root}docs/{n}.txt": ABSTRACT for n in (11, 12, 13, 21, 22, 23)}
    files[f"{root}docs/readme.md"] = "not an abstract"
    note = [{"docid": one["docid"], "Participants": {"mv": []}} for one in crowd]
    own = crowd if numbered else [{"Participants": one["Participants"]} for one in crowd]
    home = f"{root}annotations/{{}}/PICO-annos-{{}}.json"
    between = "\n" if numbered else ""
    files[home.format("acl17-test", "crowdsourcing")] = between.join(map(json.dumps, own))
    files[home.format("acl17-test", "professional")] = "\n".join(map(json.dumps, note))
    for number, part in enumerate(("train", "dev", "test"), 21):
        record = {"Participants": {"W3": [[0, 4]]}, "docid": str(number)}
        files[home.format(part, "crowdsourcing")] = json.dumps(record) + "\n"
    return {
        "pico-data.zip": zipped(files),
        "experts.json": "\n".join(map(json.dumps, experts)).encode(),
    }


class Server:
    """A server of files in memory, with the faults a test asks for.

    ranges : whether ``Range`` is heeded.
    drop_after : bytes of a body after which the connection is cut, as often as ``drops`` says.
    """

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.status: dict[str, list[int]] = {}
        self.ranges, self.etags = True, True
        self.drop_after, self.drops = 0, 0
        self.asked: list[tuple[str, str | None]] = []
        self.url = ""

    def put(self, name: str, files: Mapping[str, bytes]) -> None:
        self.files |= {f"/{name}/{file}": content for file, content in files.items()}


@contextmanager
def serving() -> Iterator[Server]:
    server = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = self.headers.get("Range")
            server.asked.append((self.path, asked))
            planned = server.status.get(self.path)
            if planned:
                self.send_error(planned.pop(0))
                return
            if self.path not in server.files:
                self.send_error(404)
                return
            body, start = server.files[self.path], 0
            etag = f'"{hash(body) & 0xFFFFFFFF:x}"'
            if server.ranges and asked and self.headers.get("If-Range") == etag:
                start = int(asked.removeprefix("bytes=").rstrip("-"))
                if start >= len(body):
                    self.send_error(416)
                    return
            self.send_response(206 if start else 200)
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
            if server.etags:
                self.send_header("ETag", etag)
            self.send_header("Content-Length", str(len(body) - start))
            self.end_headers()
            if server.drops:
                server.drops -= 1
                self.wfile.write(body[start : start + server.drop_after])
                self.close_connection = True
            else:
                self.wfile.write(body[start:])

        def log_message(self, *_: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    server.url = f"http://127.0.0.1:{http.server_port}"
    thread = threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()


def write_sources(folder: Path, files: Mapping[str, bytes]) -> dict[str, Path]:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return {name: folder / name for name in files}
