"""The server of the page: on this machine only, for those who know the address with its token."""

from __future__ import annotations

import asyncio
import errno
import json
import secrets
import signal
import socket
import tempfile
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import FrameType
from typing import Any
from urllib.parse import unquote

import anyio
import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from threadpoolctl import threadpool_limits
from uvicorn.protocols.http.h11_impl import H11Protocol

from mercer.errors import InputError, MercerError
from mercer.lab.answers import ANSWERS, answer, plain
from mercer.lab.files import EXPORTS, LARGEST, MODULES, Uploads, export, page_text
from mercer.lab.jobs import Jobs
from mercer.lab.questions import Answer

LOOPBACK = "127.0.0.1"
FILES = {"": "index.html", "style.css": "style.css"} | {name: name for name in (*MODULES, "remote.js")}
_TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript"}
_LONGEST = 2_000_000  # bytes of a question
_AT_ONCE, _WAITING = 2, 64  # questions
_UPLOADS = 2  # that are on their way or being read
_PATIENCE = 60  # seconds until all of a request has come
_QUICK = ("start", "progress", "stop", "kernel")  # that wait for no other question
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
]


def guard(app: ASGIApp, hosts: set[str]) -> ASGIApp:
    """The application for requests to these hosts, from this page or from no page, with the headers of safety."""

    async def answer_guarded(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *_HEADERS]
            await send(message)

        refused = _reason_to_refuse(Headers(scope=scope), hosts) if scope["type"] == "http" else ""
        await (PlainTextResponse(refused, 403) if refused else app)(scope, receive, send_safely)

    return answer_guarded


def _reason_to_refuse(headers: Headers, hosts: set[str]) -> str:
    host = headers.getlist("host")
    if len(host) != 1 or host[0].lower() not in hosts:
        return "This address is not served here."
    origins = {f"http://{host}" for host in hosts}
    elsewhere = any(origin.lower() not in origins for origin in headers.getlist("origin"))
    if elsewhere or any(site not in ("none", "same-origin") for site in headers.getlist("sec-fetch-site")):
        return "Pages from elsewhere are not answered."
    return ""


class Connection(H11Protocol):
    """A connection that is closed where the head of a request has not come in time; the body is waited for later."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request."""
        super().connection_made(transport)
        self._deadline = self.loop.call_later(_PATIENCE, self._give_up)

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._deadline.cancel()
        self._deadline = self.loop.call_later(_PATIENCE, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        super().connection_lost(exc)
        self._deadline.cancel()

    def _give_up(self) -> None:
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()


async def _in_thread(question: Callable[[], Response]) -> Response:
    """The answer of a thread that does not keep the process alive."""
    future: Future[Response] = Future()
    future.set_running_or_notify_cancel()  # who waits may leave, and the thread goes on

    def work() -> None:
        try:
            future.set_result(question())
        except BaseException as error:  # noqa: BLE001 - whoever waits is told
            future.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    return await asyncio.wrap_future(future)


class Lab:
    """The page, its questions, tables and searches.

    Parameters
    ----------
    token : str
        The first part of every path; who does not know it finds nothing.
    table : path, default=None
        A table that is open from the start.
    folder : path, default=None
        Where uploads are for the moment in which they are read; None is the usual place of temporary files.
    """

    thread: threading.Thread  # that serves it

    def __init__(self, token: str, table: Path | None = None, folder: Path | None = None) -> None:
        self.token, self.uploads, self.jobs = token, Uploads(folder), Jobs()
        self.opened = None if table is None else self.uploads.open(table, table.name)[0]
        counts = (_AT_ONCE, 1, _WAITING, _UPLOADS)
        self._heavy, self._light, self._waiting, self._coming = map(asyncio.Semaphore, counts)
        # what is answered from what the server keeps, but for `table`, which comes as bytes
        self._own: dict[str, Callable[[dict[str, Any]], Answer | Response]] = {
            "start": lambda _: {"tables": self.uploads.descriptions(), "opened": self.opened},
            "columns": lambda asked: self.uploads.get(asked.get("key")).points(
                asked.get("axes"), asked.get("target"), others=asked.get("others") is True
            ),
            "search": lambda asked: {"job": self.jobs.start(asked)},
            "progress": lambda asked: self.jobs.get(asked.get("job")).state(),
            "stop": lambda asked: self.jobs.get(asked.get("job")).end(),
            "export": self._export,
        }

    def app(self, hosts: set[str]) -> ASGIApp:
        """The application, for requests to these hosts."""
        routes = [
            Route("/{token}/", self.page, methods=["GET"]),
            Route("/{token}/{name}", self.page, methods=["GET"]),
            Route("/{token}/api/{what}", self.asked, methods=["POST"]),
        ]
        app = Starlette(routes=routes, exception_handlers={500: _broken})
        app.router.redirect_slashes = False
        return guard(app, hosts)

    def _known(self, request: Request) -> bool:
        return secrets.compare_digest(request.path_params["token"].encode(), self.token.encode())

    async def page(self, request: Request) -> Response:
        """A file of the page."""
        name = FILES.get(request.path_params.get("name", ""))
        if not self._known(request) or name is None:
            return PlainTextResponse("Not found.", 404)
        return Response(page_text(name), media_type=_TYPES[name.rpartition(".")[2]] + "; charset=utf-8")

    async def asked(self, request: Request) -> Response:
        """The answer to a question, in JSON; or what is wrong with it, in a sentence."""
        what = request.path_params["what"]
        if not self._known(request) or what not in ("table", *ANSWERS, *self._own):
            return PlainTextResponse("Not found.", 404)
        table = what == "table"
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != ("application/octet-stream" if table else "application/json"):
            return _error_response("The request must be JSON, or the bytes of a table.", 415)
        if table and self._coming.locked():
            return _error_response("Two tables are on their way. Wait a moment.", 503)
        async with self._coming if table else nullcontext():
            try:
                with anyio.fail_after(_PATIENCE):
                    raw = await _body(request, LARGEST if table else _LONGEST)
            except TimeoutError:
                return _error_response("The request took too long to arrive.", 408)
            except ClientDisconnect:
                return Response(status_code=400)
            if raw is None:
                return _error_response("This is too large: a table may have 20 MB, a request 2 MB.", 413)
            if self._waiting.locked():
                return _error_response("Too many requests at once. Wait a moment.", 503)
            async with self._waiting, self._light if what in _QUICK else self._heavy:
                return await _in_thread(lambda: self._answer(what, raw, request.headers))

    def _answer(self, what: str, raw: bytes, headers: Headers) -> Response:
        try:
            if what == "table":
                key, upload = self.uploads.read(raw, _file_name(unquote(headers.get("x-name", ""))))
                return JSONResponse(plain({"key": key, **upload.description()}))
            asked = _parse_request(raw)
            found = answer(what, asked) if what in ANSWERS else self._own[what](asked)
            return found if isinstance(found, Response) else JSONResponse(plain(found))
        except RecursionError:
            words = "The request is nested too deeply."
        except MercerError as error:
            words = str(error)
        except MemoryError:
            words = "There is not enough memory for this. Use fewer points."
        except (ArithmeticError, ValueError, TypeError, LookupError) as error:  # odd input that nobody foresaw
            words = f"This could not be worked out ({type(error).__name__})."
        return _error_response(words, 200)  # an answer in words: the page shows it beside the control

    def _export(self, asked: dict[str, Any]) -> Response:
        what = asked.get("what")
        if not isinstance(what, str) or what not in EXPORTS:
            raise InputError(f"Only {', '.join(EXPORTS)} can be exported.")
        job = self.jobs.get(asked["job"]) if asked.get("job") else None
        return Response(export(what, asked, job, self.uploads.folder), media_type="application/octet-stream")


def _parse_request(raw: bytes) -> dict[str, Any]:
    try:
        found = json.loads(raw)
    except ValueError:
        raise InputError("The request must be JSON.") from None
    if not isinstance(found, dict):
        raise InputError("The request must be a JSON object.")
    return found


def _file_name(given: str) -> str:
    """What an upload is called in messages: the last part of its name, which is never a path here."""
    shown = "".join(sign for sign in given if sign.isprintable()).replace("\\", "/").rpartition("/")[2]
    return shown[:80] or "the table"


async def _body(request: Request, most: int) -> bytes | None:
    """All bytes of a request, or None as soon as they are too many."""
    pieces, count = [], 0
    async for piece in request.stream():
        count += len(piece)
        if count > most:
            return None
        pieces.append(piece)
    return b"".join(pieces)


def _error_response(words: str, status: int) -> Response:
    return JSONResponse({"error": words}, status)


async def _broken(_request: Request, _error: Exception) -> Response:
    return _error_response("The server made a mistake. Please report it.", 500)


def bound(port: int) -> socket.socket:
    """A socket of this machine alone; port 0 is any that is free."""
    try:  # whoever opens the address before the server is ready waits
        listening = socket.create_server((LOOPBACK, port), backlog=128)
    except OSError as error:
        why = "is in use" if error.errno == errno.EADDRINUSE else "cannot be used"
        raise InputError(f"Port {port} {why}. Choose another one.") from None
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # answers in two pieces wait for nothing
    return listening


@contextmanager
def running(lab: Lab, listening: socket.socket | None = None) -> Iterator[str]:
    """The address of the page, served by a thread of this process while the block lasts."""
    with bound(0) if listening is None else listening as own:
        port = own.getsockname()[1]
        app = lab.app({f"{LOOPBACK}:{port}", f"localhost:{port}"})
        config = uvicorn.Config(
            app, http=Connection, log_level="critical", access_log=False, timeout_graceful_shutdown=1
        )
        server = uvicorn.Server(config)
        lab.thread = threading.Thread(target=server.run, kwargs={"sockets": [own]}, daemon=True)
        lab.thread.start()
        while lab.thread.is_alive() and not server.started:
            time.sleep(0.01)
        try:
            yield f"http://{LOOPBACK}:{port}/{lab.token}/"
        finally:
            server.should_exit = True
            lab.thread.join(timeout=10)
            lab.jobs.close()


@contextmanager
def handling_signals(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Handle Ctrl-C and the signals that ask a process to end in this way; those that are ignored stay ignored."""
    there = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {each: signal.getsignal(each) for each in there if signal.getsignal(each) != signal.SIG_IGN}
    for each in before:
        signal.signal(each, handler)
    try:
        yield
    finally:
        for each, known in before.items():
            signal.signal(each, known)


def serve(table: Path | None, port: int, *, browser: bool, say: Callable[[str], None] = print) -> None:
    """Serve the page until it is interrupted; the first line that is said is its address."""
    ended = threading.Event()
    interrupt = handling_signals(signal.default_int_handler)  # while a table is read, as Ctrl-C does
    with interrupt, bound(port) as listening, tempfile.TemporaryDirectory() as folder:
        lab = Lab(secrets.token_urlsafe(16), table, Path(folder))
        # few points are done sooner on one thread
        with handling_signals(lambda *_: ended.set()), threadpool_limits(1), running(lab, listening) as address:
            say(address)
            say("Open this address in a browser on this machine. Ctrl-C ends the server.")
            if browser:
                threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
            while lab.thread.is_alive() and not ended.wait(1.0):  # in turns: not every system ends a wait by signals
                pass
            if not ended.is_set():
                raise MercerError("The server of the page ended by itself. Run mercer lab again.")
    say("Stopped.")
