"""What a `queue` handler is given: a batch of messages, each to be acknowledged or tried again."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from stepwell.bindings.values import Value


class Message:
    """One message. What was said of it last counts; without a word it is acknowledged with its batch."""

    def __init__(self, id: str, timestamp: datetime, body: Value, attempts: int = 1) -> None:
        self.id = id
        self.timestamp = timestamp
        self.body = body
        self.attempts = attempts
        self.acknowledged: bool | None = None
        self.delay_seconds: int | None = None

    def ack(self) -> None:
        self.acknowledged = True

    def retry(self, options: Any = None, **keywords: Any) -> None:
        """Delivers it again, after `delaySeconds` if given."""
        self.acknowledged = False
        self.delay_seconds = {**(options or {}), **keywords}.get("delaySeconds")


class MessageBatch:
    """The messages of one delivery from one queue."""

    def __init__(self, queue: str, messages: Sequence[Message]) -> None:
        self.queue = queue
        self.messages = list(messages)

    def ackAll(self) -> None:
        for message in self.messages:
            message.ack()

    ack_all = ackAll

    def retryAll(self, options: Any = None, **keywords: Any) -> None:
        for message in self.messages:
            message.retry(options, **keywords)

    retry_all = retryAll

    def to_retry(self) -> list[Message]:
        """After the handler returned: those that it asked for again."""
        return [message for message in self.messages if message.acknowledged is False]
