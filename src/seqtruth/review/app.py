"""The JSON API and the page."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from seqtruth._version import __version__
from seqtruth.errors import MissingExtraError, SeqTruthError

try:
    from fastapi import BackgroundTasks, Depends, FastAPI, HTTPException, Query, Request, Response
    from fastapi.responses import FileResponse, JSONResponse, RedirectResponse, StreamingResponse
    from fastapi.staticfiles import StaticFiles
    from starlette.middleware.trustedhost import TrustedHostMiddleware
except ImportError as error:  # pragma: no cover - the extra is there or it is not
    raise MissingExtraError(error.name or "fastapi", "review", "the review desk") from error

from seqtruth.review import messages
from seqtruth.review.desk import Desk
from seqtruth.review.doors import Doors, Guard, check_origin
from seqtruth.review.export import export, writable
from seqtruth.review.store import double
from seqtruth.review.store.decisions import ConflictError, Written
from seqtruth.review.store.people import DAYS, Person
from seqtruth.review.wanted import Wanted

STATIC = Path(__file__).parent / "static"
#: Names listed for filters; more are to be typed.
MOST_NAMES = 2000


def make_app(desk: Desk, doors: Doors, hosts: list[str], learner: Any = None) -> FastAPI:
    """The application.

    Parameters
    ----------
    desk : what is reviewed.
    doors : who may come in.
    hosts : names under which the server may be asked.
    learner : what re-aggregates in the background; None where nothing is learnt.
    """
    app = FastAPI(
        title="SeqTruth review desk", version=__version__, openapi_url="/api/openapi.json",
        docs_url=None, redoc_url=None,
        description="Sign in with the cookie of a browser, or with `Authorization: Bearer TOKEN` where there "
        "are no users.",
    )  # fmt: skip
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=hosts)
    app.add_middleware(Guard)
    app.add_exception_handler(SeqTruthError, _said)
    _add_page(app, doors)
    _add_people(app, doors)
    _add_questions(app, desk, doors)
    _add_decisions(app, desk, doors, learner)
    _add_outputs(app, desk, doors, learner)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    return app


async def _said(_: Request, error: Exception) -> Response:
    """Our own errors as JSON: 409 where somebody else was faster, else 422."""
    assert isinstance(error, SeqTruthError)
    told = {"detail": str(error), "what": error.what, "where": error.where, "got": error.got}
    return JSONResponse(told, 409 if isinstance(error, ConflictError) else 422)


def _add_page(app: FastAPI, doors: Doors) -> None:
    @app.get("/", include_in_schema=False)
    def page(token: str | None = None) -> Response:
        if token is not None and doors.is_token(token):
            answer = RedirectResponse("/", 303)
            _remember(answer, doors, doors.people.open_session("reviewer"))
            return answer
        return FileResponse(STATIC / "index.html")

    @app.get("/favicon.ico", include_in_schema=False)
    def icon() -> Response:
        return FileResponse(STATIC / "icon.svg", media_type="image/svg+xml")


def _remember(answer: Response, doors: Doors, cookie: str) -> None:
    answer.set_cookie(
        doors.cookie, cookie, max_age=DAYS * 86400, httponly=True, samesite="strict",
        secure=doors.secure,
    )  # fmt: skip


def _add_people(app: FastAPI, doors: Doors) -> None:
    who, lead = Depends(doors.who), Depends(doors.lead)

    @app.post(
        "/api/session", tags=["people"], responses=_WRONG, dependencies=[Depends(check_origin)]
    )
    def sign_in(given: messages.SignIn, response: Response) -> dict[str, str]:
        """Sign in: the answer sets the session's cookie."""
        _remember(response, doors, doors.sign_in(given.name, given.password))
        return {"name": given.name}

    @app.delete("/api/session", tags=["people"])
    def sign_out(request: Request, person: Person = who) -> dict[str, str]:
        """Sign out."""
        doors.people.sign_out(request.cookies.get(doors.cookie, ""))
        return {"name": person.name}

    @app.get("/api/users", tags=["people"])
    def users(person: Person = who) -> dict[str, str]:
        """Names and roles of all users."""
        return doors.people.everybody()

    @app.post("/api/users", tags=["people"], responses={403: {"description": "leads only"}})
    def add_user(given: messages.NewUser, person: Person = lead) -> dict[str, str]:
        """Add a user, or give one a new password and role; leads only."""
        doors.people.add(given.name, given.password, given.role)
        return {"name": given.name, "role": given.role}


def _add_questions(app: FastAPI, desk: Desk, doors: Doors) -> None:
    who = Depends(doors.who)

    @app.get("/api/project", tags=["questions"])
    def project(person: Person = who) -> dict[str, Any]:
        """What is reviewed, by whom, and how far it is."""
        result, crowd = desk.result, desk.crowd
        return {
            "name": desk.store.name, "version": __version__, "double": desk.store.double,
            "user": person.name, "role": person.role, "csrf": person.csrf,
            "types": list(result.scheme.types), "plain": result.scheme.kind == "plain",
            "method": result.provenance.get("method"), "sentences": result.corpus.n_base_sentences,
            "documents": [name for name in result.corpus.documents[:MOST_NAMES] if name],
            "annotators": [] if crowd is None else list(crowd.annotators[:MOST_NAMES]),
            "layers": list(result.corpus.layers),
        }  # fmt: skip

    @app.get("/api/questions", tags=["questions"])
    def questions(
        wanted: Annotated[messages.Listing, Query()], person: Person = who
    ) -> list[dict[str, Any]]:
        """The questions worth most, with who is working on them."""
        return desk.ranked(person.name, _wanted(wanted), wanted.limit, person.role == "lead")

    @app.get("/api/sentences", tags=["questions"])
    def sentences(
        wanted: Annotated[messages.Sentences, Query()], person: Person = who
    ) -> list[dict[str, Any]]:
        """Sentences in reading order, in doubt or not; all that fit, or those that were decided."""
        return desk.sentences(_wanted(wanted), wanted.decided, wanted.limit)

    @app.post("/api/next", tags=["questions"], response_model=dict[str, Any])
    def next_question(wanted: messages.Filters, person: Person = who) -> Response:
        """The question worth most, kept five minutes for who asks; ``{"question": null}``: all is done."""
        found = desk.next(person.name, _wanted(wanted), person.role == "lead")
        return JSONResponse(found or {"question": None})  # plain values: there is nothing to check

    @app.post(
        "/api/questions/{name}", tags=["questions"], responses=_NOT_HERE | _CONFLICT,
        response_model=dict[str, Any],
    )  # fmt: skip
    def open_question(name: messages.Name, person: Person = who) -> Response:
        """A question by name, kept for who asks; asking again keeps it longer."""
        found = desk.open(person.name, name, person.role == "lead")
        if found is None:
            raise HTTPException(404, "no such question, or it is settled")
        return JSONResponse(found)


_CONFLICT: dict[int | str, dict[str, Any]] = {409: {"description": "somebody else was faster"}}
_WRONG: dict[int | str, dict[str, Any]] = {
    401: {"description": "wrong name or password"},
    429: {"description": "too many wrong passwords"},
}
_NOT_HERE: dict[int | str, dict[str, Any]] = {404: {"description": "no such thing"}}


def _wanted(given: messages.Filters) -> Wanted:
    return Wanted(**given.model_dump(exclude={"limit", "decided"}))


def _add_decisions(app: FastAPI, desk: Desk, doors: Doors, learner: Any) -> None:
    who = Depends(doors.who)

    @app.post("/api/decisions", tags=["decisions"], responses=_CONFLICT)
    def decide(given: messages.Decide, person: Person = who) -> dict[str, Any]:
        """Write a decision; when the answer comes, it is on the disk."""
        items = [one.model_dump() for one in given.items]
        final = given.final and person.role == "lead"
        written = desk.decide(person.name, given.batch, given.question, items, given.comment, final)
        desk.leave_out(given.left_out)
        return _told(written, learner)

    @app.post("/api/undo", tags=["decisions"], responses=_CONFLICT)
    def undo(given: messages.Undo, person: Person = who) -> dict[str, Any]:
        """Take back the last decision that stands, or the one named."""
        return _told(desk.undo(person.name, given.batch, given.undoes), learner)

    @app.post("/api/skips", tags=["decisions"])
    def skip(given: messages.Aside, person: Person = who) -> dict[str, Any]:
        """Pass sentences over: they are left to others."""
        here = desk.known_sentences(given.sentences)
        return _told(desk.store.skip(person.name, given.batch, given.question, here, given.comment))

    @app.delete("/api/skips", tags=["decisions"])
    def ask_again(person: Person = who) -> dict[str, int]:
        """Ask again about what one passed over."""
        return {"sentences": desk.store.ask_again(person.name)}

    @app.post("/api/comments", tags=["decisions"])
    def comment(given: messages.Aside, person: Person = who) -> dict[str, Any]:
        """Say something about sentences without deciding."""
        here = desk.known_sentences(given.sentences)
        told = desk.store.comment(person.name, given.batch, given.question, here, given.comment)
        return _told(told)

    @app.get("/api/history", tags=["decisions"])
    def history(
        mine: bool = True, sentence: messages.Count | None = None,
        most: Annotated[int, Query(ge=1, le=1000)] = 50, person: Person = who,
    ) -> list[dict[str, Any]]:  # fmt: skip
        """What happened, newest first: one's own doing, or everybody's; about one sentence or all."""
        return desk.store.history(person.name if mine else None, sentence, most)


def _told(written: Written, learner: Any = None) -> dict[str, Any]:
    if learner is not None and written.states and not written.again:
        learner.decided()
    states = {
        s: {"version": one.version, "status": one.status} for s, one in written.states.items()
    }
    return {"batch": written.batch, "again": written.again, "states": states}


def _add_outputs(app: FastAPI, desk: Desk, doors: Doors, learner: Any) -> None:
    who, lead = Depends(doors.who), Depends(doors.lead)

    @app.get("/api/progress", tags=["progress"])
    def progress(person: Person = who) -> dict[str, Any]:
        """How far it is, what is expected of more decisions, and what the labels learnt."""
        return desk.progress() | ({} if learner is None else {"learning": learner.status()})

    @app.post("/api/learn", tags=["progress"], responses=_CONFLICT)
    def learn(given: messages.Learn, person: Person = who) -> dict[str, Any]:
        """Learn from the decisions now: update, or fit everything anew."""
        if learner is None:
            raise HTTPException(
                409, "this desk does not learn: the annotators' labels are not there"
            )
        learner.ask(given.refit)
        return dict(learner.status())

    @app.get("/api/agreement", tags=["progress"])
    def agreement(person: Person = who) -> dict[str, Any]:
        """How far two reviewers agree, where two are asked."""
        with desk.store.database.reading() as db:
            return double.agreement(double.all_opinions(db))

    @app.get("/api/formats", tags=["out"])
    def formats(person: Person = who) -> dict[str, str]:
        """The formats that can be exported to."""
        return writable()

    @app.get("/api/export", tags=["out"], response_class=FileResponse)
    def download(
        tasks: BackgroundTasks, format: messages.Word = "jsonl", what: messages.Word = "labels",
        person: Person = who,
    ) -> FileResponse:  # fmt: skip
        """All labels, decisions in them (``labels``), or what was decided, as gold (``decisions``)."""
        found = export(desk, format, what)
        tasks.add_task(shutil.rmtree, found.folder, ignore_errors=True)
        notes = json.dumps([note[:500] for note in found.notes[:8]])
        return FileResponse(found.path, filename=found.path.name, headers={"x-desk-notes": notes})

    @app.get("/api/audit", tags=["out"], response_class=StreamingResponse)
    def audit(person: Person = lead) -> StreamingResponse:
        """Every event ever, oldest first, as JSON lines; leads only."""
        ids = desk.result.corpus.sentence_ids

        def lines() -> Iterator[str]:
            for one in desk.store.audit():
                name = ids[one["sentence"]].as_py()
                yield json.dumps({**one, "sentence_id": name}, ensure_ascii=False) + "\n"

        head = {"content-disposition": 'attachment; filename="audit.jsonl"'}
        return StreamingResponse(lines(), media_type="application/x-ndjson", headers=head)
