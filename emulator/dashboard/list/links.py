"""The addresses of the list: the same list with something changed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from stepwell.emulator.dashboard.list.query import ListQuery, Word
from stepwell.emulator.dashboard.parts.statuses import STATUS_LOOKS
from stepwell.emulator.dashboard.parts.urls import Urls
from stepwell.emulator.storage.records import Status
from stepwell.emulator.storage.view_records import Cursor, ListPage, Order


@dataclass(frozen=True, slots=True)
class Choice:
    """A link of the list: `value` is what a form sends for it."""

    name: str
    url: str
    selected: bool
    value: str = ""


class Links:
    """The list's own addresses: the same view with one thing changed."""

    def __init__(self, query: ListQuery, order: Order, columns: str = "", grouping: str = "") -> None:
        """`columns` as the address of the page says them; empty where it does not."""
        self._query = query
        self._order = order
        self._columns = columns
        self._grouping = grouping
        self._urls = Urls()

    def _parts(self, **changed: str | list[str] | None) -> dict[str, str | list[str] | None]:
        return {
            "workflow": self._query.workflow,
            "q": self._query.text,
            "status": [str(status) for status in self._query.tiles],
            "sort": None if self._order is Order.NEWEST else str(self._order),
            "columns": self._columns,
            "group": self._grouping,
            **changed,
        }

    def _url(self, **changed: str | list[str] | None) -> str:
        return self._urls.home(**self._parts(**changed))

    def fields(self, page: ListPage) -> tuple[tuple[str, str], ...]:
        place = f"{page.after.value}.{page.after.key}" if page.after else None
        parts = self._parts(**{"before" if page.backward else "after": place})
        many = [(name, [value] if isinstance(value, str) else value or []) for name, value in parts.items()]
        return tuple((name, value) for name, values in many for value in values if value)

    def toggled(self, status: Status) -> str:
        """With a tile chosen, or not any more; then every status is that of a tile, which can take it away."""
        chosen = [s for s in self._query.statuses if s is not status]
        if len(chosen) == len(self._query.statuses):
            chosen.append(status)
        text = _text(word for word in self._query.words if word.key != "status")
        return self._url(status=[str(one) for one in chosen], q=text)

    def any_status(self) -> str:
        """Without a filter by status, neither of a segment nor of a word."""
        return self._url(status=None, q=_text(word for word in self._query.words if word.key != "status"))

    def grouped(self, grouping: str) -> str:
        return self._url(group=grouping)

    def of_group(self, workflow: str | None, word: str = "", statuses: Iterable[Status] = ()) -> str:
        """The instances of one group: what the list shows, narrowed."""
        text = " ".join(part for part in (self._query.text, word) if part)
        chosen = [str(status) for status in statuses] or [str(status) for status in self._query.tiles]
        return self._url(group=None, workflow=workflow, q=text, status=chosen)

    def order(self, order: Order) -> str:
        return self._url(sort=None if order is Order.NEWEST else str(order))

    def page(self, *, after: Cursor | None = None, before: Cursor | None = None) -> str:
        return self._url(
            after=f"{after.value}.{after.key}" if after else None,
            before=f"{before.value}.{before.key}" if before else None,
        )

    def cleared(self, workflow: str | None) -> str:
        """Of a Workflow, or of all, without filters and in the usual order."""
        return self._url(workflow=workflow, q=None, status=None, sort=None, group=None)

    def chips(self) -> tuple[Choice, ...]:
        """The filters among the words of the search, each with the list without it."""
        words = [word for word in self._query.words if word.key is not None]
        return tuple(
            Choice(word.text, self._url(q=_text(other for other in self._query.words if other is not word)), True)
            for word in words
        )

    def drops(self) -> tuple[Choice, ...]:
        """For a list that shows nothing: the same without one of its filters."""
        choices = [
            Choice(f"Without status {STATUS_LOOKS[status].word}", self.toggled(status), False)
            for status in self._query.statuses
        ]
        words = [word for word in self._query.words if word.key != "status"]
        for text in dict.fromkeys(word.text for word in words):
            rest = _text(word for word in self._query.words if word.text != text)
            choices.append(Choice(f"Without “{text}”", self._url(q=rest), False))
        if self._query.workflow is not None:
            choices.append(Choice("In all Workflows", self._url(workflow=None), False))
        return tuple(choices)


def _text(words: Iterable[Word]) -> str:
    return " ".join(word.text for word in words)
