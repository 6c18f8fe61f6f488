"""Who may come in: the token in the address, signed-in users; what requests and answers must carry."""

from __future__ import annotations

import hmac
import threading
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from fastapi import HTTPException, Request

from seqtruth.review.store.people import People, Person

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

#: The one reviewer of a desk without users.
SOLO = "reviewer"
#: Largest request, in bytes.
LARGEST = 1 << 20
#: Wrong passwords for one name before it has to wait, and for how many seconds.
PATIENCE, PAUSE = 5, 30.0
CSRF = "x-desk-csrf"

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "cache-control": "no-store",
}


@dataclass(eq=False)
class Doors:
    """Tells who is asking.

    Parameters
    ----------
    people : users and sessions.
    token : what the address must carry where there are no users.
    cookie : name of the session's cookie.
    secure : whether the cookie goes over HTTPS only.
    """

    people: People
    token: str
    cookie: str = "seqtruth-desk"
    secure: bool = False
    _failures: dict[str, list[float]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def is_token(self, given: str) -> bool:
        """Whether this is the desk's token; never where there are users."""
        if self.people.everybody():
            return False
        return hmac.compare_digest(given.encode("utf-8", "replace"), self.token.encode())

    def sign_in(self, name: str, password: str) -> str:
        """The cookie of a new session; after some wrong passwords for a name it has to wait."""
        with self._lock:
            recent = [t for t in self._failures.get(name, []) if t > time.monotonic() - PAUSE]
            self._failures[name] = recent
            if len(self._failures) > 10_000:
                self._failures.clear()
        if len(recent) >= PATIENCE:
            raise HTTPException(429, "too many wrong passwords: wait half a minute")
        cookie = self.people.sign_in(name, password)
        if cookie is None:
            with self._lock:
                self._failures.setdefault(name, []).append(time.monotonic())
            raise HTTPException(401, "wrong name or password")
        return cookie

    def who(self, request: Request) -> Person:
        """Who is asking; 401 where nobody we know, 403 where it may not be their own doing."""
        scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self.is_token(bearer):
            return Person(SOLO, "lead")
        found = self.people.who(request.cookies.get(self.cookie, ""))
        if found is None:
            raise HTTPException(401, "not signed in")
        if request.method not in ("GET", "HEAD"):
            given = request.headers.get(CSRF, "")
            if not hmac.compare_digest(given.encode(), found.csrf.encode()):
                raise HTTPException(403, f"the header {CSRF} is missing or wrong")
        if found.role:
            return found
        if found.name == SOLO and not self.people.everybody():
            return Person(SOLO, "lead", found.csrf)
        raise HTTPException(401, "not signed in")

    def lead(self, request: Request) -> Person:
        """Who is asking, where only leads may."""
        person = self.who(request)
        if person.role != "lead":
            raise HTTPException(403, "only leads may do this")
        return person


def check_origin(request: Request) -> None:
    """403 for a request that another site's page sent."""
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != request.headers.get("host"):
        raise HTTPException(403, "sent by another site's page")


class Guard:
    """ASGI middleware: security headers on every answer, and no request larger than :data:`LARGEST`."""

    def __init__(self, app: Callable[[Scope, Receive, Send], Awaitable[None]]) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        taken = 0
        length = dict(scope["headers"]).get(b"content-length", b"0")

        async def counted() -> MutableMapping[str, Any]:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > LARGEST:
                raise _TooLargeError
            return message

        async def guarded(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                if taken > LARGEST:  # whatever was made of the exception on the way here
                    message["status"] = 413
                given = {name.lower() for name, _ in message["headers"]}
                message["headers"] = [
                    *message["headers"],
                    *(
                        (k.encode(), v.encode())
                        for k, v in HEADERS.items()
                        if k.encode() not in given
                    ),
                ]
            await send(message)

        if not length.isdigit() or int(length) > LARGEST:
            await _refuse(guarded)
            return
        try:
            await self.app(scope, counted, guarded)
        except _TooLargeError:
            await _refuse(guarded)


class _TooLargeError(Exception):
    pass


async def _refuse(send: Send) -> None:
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": b'{"detail":"the request is too large"}'})
