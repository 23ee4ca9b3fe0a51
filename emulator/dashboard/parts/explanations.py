"""What Cloudflare's own errors mean, in a sentence, with the page of its documentation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_DOCS: Final = "https://developers.cloudflare.com/workflows"


@dataclass(frozen=True, slots=True)
class Explanation:
    sentence: str
    url: str


#: (a part of the name or message, explanation); the first that fits.
_TABLE: Final = (
    (
        "not serialisable",
        "A step, or run(), returned something that cannot be stored: a function, a class instance, an open "
        "connection. Return plain data. The path says where in the value it is.",
        f"{_DOCS}/build/rules-of-workflows/",
    ),
    (
        "cannot be sent over RPC",
        "A step, or run(), returned something that does not cross to Cloudflare's engine: an object of a class, a "
        "function, something still to be awaited. Return plain data, and await what is awaitable.",
        f"{_DOCS}/build/rules-of-workflows/",
    ),
    (
        "exceeds max length",
        "The name of a step may have 256 characters, none of them a control character. Give it a short name and "
        "return what tells it apart.",
        f"{_DOCS}/reference/limits/",
    ),
    (
        "is longer than the maximum of",
        "A sleep lasts 365 days at most. Sleep several times in turn for longer.",
        f"{_DOCS}/reference/limits/",
    ),
    (
        "Timeout of waitForEvent",
        "A wait for an event lasts between a second and 365 days.",
        f"{_DOCS}/build/events-and-parameters/",
    ),
    (
        "storage limit",
        "What an instance stores (params, results of steps, output) has a limit for all together. Store large data "
        "elsewhere (R2, KV) and return its key.",
        f"{_DOCS}/reference/limits/",
    ),
    (
        "Cannot execute steps during rollback",
        "While its rollback handlers run, an instance begins no step. Do the work in the handler itself.",
        f"{_DOCS}/build/rules-of-workflows/",
    ),
    (
        "output is too large",
        "What a step returns is stored and may be 1 MiB. Store large data elsewhere (R2, KV) and return its key, "
        "or return a stream.",
        f"{_DOCS}/reference/limits/",
    ),
    (
        "WorkflowTimeoutError",
        "An attempt, or a wait for an event, took longer than its timeout. The timeout of a step counts for each "
        "attempt anew; that of a wait is 24 hours unless given.",
        f"{_DOCS}/build/sleeping-and-retrying/",
    ),
    (
        "Execution timed out",
        "An attempt, or a wait for an event, took longer than its timeout.",
        f"{_DOCS}/build/sleeping-and-retrying/",
    ),
    (
        "NonRetryableError",
        "The code said that trying again cannot help: no retry that was left was made.",
        f"{_DOCS}/build/sleeping-and-retrying/",
    ),
    (
        "internal workflows error",
        "The process ended while this attempt ran: it counts as failed, and the next one follows its retries.",
        f"{_DOCS}/build/rules-of-workflows/",
    ),
    (
        "is in a invalid format",
        "The config of a step has a field that is unknown or of the wrong type. retries needs limit and delay.",
        f"{_DOCS}/build/sleeping-and-retrying/",
    ),
    (
        "time-traveler",
        "sleepUntil was given a time that had passed when it was called.",
        f"{_DOCS}/build/sleeping-and-retrying/",
    ),
    ("limit of", "run() called step.do more often than the limit allows.", f"{_DOCS}/reference/limits/"),
    (
        "WorkflowFatalError",
        "A step was called in a way that no retry can mend; the instance ends here.",
        f"{_DOCS}/build/rules-of-workflows/",
    ),
)


def explain(name: str, message: str) -> Explanation | None:
    text = f"{name}: {message}"
    for part, sentence, url in _TABLE:
        if part in text:
            return Explanation(sentence, url)
    return None
