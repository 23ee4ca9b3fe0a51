"""Explanations of Cloudflare's own errors, each with its documentation page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_DOCS: Final = "https://developers.cloudflare.com/workflows"


@dataclass(frozen=True, slots=True)
class Explanation:
    sentence: str
    url: str


#: (part of the name or message, explanation, page); the first match wins.
_TABLE: Final = (
    (
        "not serialisable",
        "A step or run() returned a value that can't be stored, such as a function, a class instance or an open "
        "connection. Return plain data. The path shows where in the value the problem is.",
        f"{_DOCS}/build/rules-of-workflows/",
    ),
    (
        "cannot be sent over RPC",
        "A step or run() returned a value that can't be sent to Cloudflare's engine, such as a class instance, a "
        "function or a promise. Return plain data, and await promises first.",
        f"{_DOCS}/build/rules-of-workflows/",
    ),
    (
        "exceeds max length",
        "Step names are limited to 256 characters, without control characters. Use a short name and return the "
        "details.",
        f"{_DOCS}/reference/limits/",
    ),
    (
        "is longer than the maximum of",
        "A sleep is limited to 365 days. To sleep longer, use several sleeps in a row.",
        f"{_DOCS}/reference/limits/",
    ),
    (
        "Timeout of waitForEvent",
        "The timeout of waitForEvent must be between 1 second and 365 days.",
        f"{_DOCS}/build/events-and-parameters/",
    ),
    (
        "storage limit",
        "The total size of params, step results and output is limited. Store large data elsewhere (R2, KV) and "
        "return its key.",
        f"{_DOCS}/reference/limits/",
    ),
    (
        "Cannot execute steps during rollback",
        "Rollback handlers can't start steps. Do the work in the handler itself.",
        f"{_DOCS}/build/rules-of-workflows/",
    ),
    (
        "output is too large",
        "A step result is limited to 1 MiB. Store large data elsewhere (R2, KV) and return its key, or return a "
        "stream.",
        f"{_DOCS}/reference/limits/",
    ),
    (
        "WorkflowTimeoutError",
        "An attempt or a wait for an event took longer than its timeout. A step's timeout applies to each attempt; "
        "the default timeout of a wait is 24 hours.",
        f"{_DOCS}/build/sleeping-and-retrying/",
    ),
    (
        "Execution timed out",
        "An attempt or a wait for an event took longer than its timeout.",
        f"{_DOCS}/build/sleeping-and-retrying/",
    ),
    (
        "NonRetryableError",
        "The step raised NonRetryableError, so its remaining retries were skipped.",
        f"{_DOCS}/build/sleeping-and-retrying/",
    ),
    (
        "internal workflows error",
        "The process ended during this attempt. The attempt counts as failed and is retried as configured.",
        f"{_DOCS}/build/rules-of-workflows/",
    ),
    (
        "is in a invalid format",
        "The step config has an unknown field or a value of the wrong type. retries needs limit and delay.",
        f"{_DOCS}/build/sleeping-and-retrying/",
    ),
    (
        "time-traveler",
        "sleepUntil was called with a time in the past.",
        f"{_DOCS}/build/sleeping-and-retrying/",
    ),
    ("limit of", "run() called step.do more times than the limit allows.", f"{_DOCS}/reference/limits/"),
    (
        "WorkflowFatalError",
        "A step was called incorrectly. Retrying can't help, so the instance failed.",
        f"{_DOCS}/build/rules-of-workflows/",
    ),
)


def explain(name: str, message: str) -> Explanation | None:
    text = f"{name}: {message}"
    for part, sentence, url in _TABLE:
        if part in text:
            return Explanation(sentence, url)
    return None
