"""What a client gets when a JavaScript fetch threw: the error with the user's own lines, as a page or as text."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Final

from stepwell.bindings.errors import ErrorInfo
from stepwell.emulator.worker.host import Message, Scope, Send
from stepwell.emulator.worker.python.error_page import error_page
from stepwell.emulator.worker.workerd.run_key import RunKey

_log = logging.getLogger("stepwell.worker")

#: As front.mjs names it; its value proves that the answer is ours.
_ERROR_HEADER: Final = b"stepwell-error"
#: As wrangler's middleware names it, which describes errors in the same way and does not log them.
_WRANGLERS_HEADER: Final = b"mf-experimental-error-stack"


class ErrorAnswers:
    """A `Send` that passes answers on, but for those that describe an error."""

    def __init__(
        self, send: Send, scope: Scope, key: RunKey, worker: str, mapped: Callable[[ErrorInfo], ErrorInfo]
    ) -> None:
        """`mapped` puts the user's own lines into the stack."""
        self._send = send
        self._wants_page = any(name == b"accept" and b"text/html" in value for name, value in scope["headers"])
        self._key = key
        self._worker = worker
        self._mapped = mapped
        self._start: Message | None = None
        self._body = b""

    async def __call__(self, message: Message) -> None:
        kind = message["type"].removeprefix("websocket.")
        if kind == "http.response.start" and self._describes_an_error(message):
            self._start = message
        elif kind == "http.response.body" and self._start is not None:
            self._body += message.get("body", b"")
            if not message.get("more_body"):
                await self._tell(self._start, message["type"])
        else:
            await self._send(message)

    def _describes_an_error(self, start: Message) -> bool:
        proofs = [value for name, value in start["headers"] if name == _ERROR_HEADER]
        if proofs:
            return self._key.accepts("error", proofs[0].decode("latin-1"))
        return _is_of_wrangler(start)

    async def _tell(self, start: Message, body_type: str) -> None:
        if not self._body:  # of HEAD
            await self._send({**start, "headers": []})
            await self._send({"type": body_type})
            return
        error = self._mapped(ErrorInfo.from_json(json.loads(self._body)))
        title = f"{error.name}: {error.message}"
        details = error.stack or title
        if _is_of_wrangler(start):
            _log.error("%s", details)
        kind, text = b"text/plain", f"{details}\n"
        if self._wants_page:
            kind, text = b"text/html", error_page(self._worker, title, details)
        headers = [(b"content-type", kind + b";charset=utf-8")]
        await self._send({**start, "headers": headers})
        await self._send({"type": body_type, "body": text.encode("utf-8", "replace")})


def _is_of_wrangler(start: Message) -> bool:
    return any(name == _WRANGLERS_HEADER for name, _ in start["headers"])
