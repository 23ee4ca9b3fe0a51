"""Page handlers: each reads, builds a view model and renders it, in the server's thread pool."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from stepwell.emulator.dashboard.list.query import WORDS
from stepwell.emulator.dashboard.list.view import build_list
from stepwell.emulator.dashboard.parts.answers import HEADERS, page
from stepwell.emulator.dashboard.parts.clipboard import ours
from stepwell.emulator.dashboard.parts.reads import Reads
from stepwell.emulator.dashboard.parts.statuses import STATUS_LOOKS
from stepwell.emulator.dashboard.parts.urls import Urls
from stepwell.emulator.storage.records import Status


class Pages:
    """Handlers of GET requests."""

    def __init__(self, reads: Reads) -> None:
        self._reads = reads

    def instances(self, request: Request) -> Response:
        inputs = self._reads.list_inputs(request)
        view = build_list(inputs)
        title = inputs.query.workflow or "Instances"
        frame = self._reads.frame(
            request,
            title,
            section="list",
            selected=inputs.query.workflow,
            watch="list",
            command=next(
                (one.text for one in view.snippets if one.name == "Stepwell"),
                ours(self._reads.parts.url, "workflows list"),
            ),
        )
        return page(request, "list.html", frame, view)

    def words(self, request: Request) -> Response:
        """Completions of the search box: filters, statuses, recent step names and event types."""
        known = self._reads.reader.known_steps(None)
        words = [{"text": text, "example": example, "help": help_} for text, example, help_ in WORDS]
        names = sorted({name for _, name, _ in known})
        types = sorted({kind for _, _, kind in known if kind})
        body = {"words": words, "values": {"status:": list(Status), "step:": names, "waiting:": types}}
        return JSONResponse(body, headers=HEADERS)

    def find(self, request: Request) -> Response:
        """Find instances by part of their id: JSON for the palette, or a redirect to the only match or list."""
        text = request.query_params.get("id", "").strip()
        urls = Urls()
        names = {row.key: row.name for row in self._reads.reader.workflows()}
        found = self._reads.reader.found_by_id(text, 12) if text else []
        if "application/json" in request.headers.get("accept", ""):
            body = [
                {
                    "id": one.id,
                    "workflow": names.get(one.workflow, "?"),
                    "status": one.status,
                    "icon": STATUS_LOOKS[one.status].icon,
                    "tone": STATUS_LOOKS[one.status].tone,
                    "url": urls.instance(names.get(one.workflow, "?"), one.id),
                }
                for one in found
            ]
            return JSONResponse(body, headers=HEADERS)
        exact = [one for one in found if one.id == text]
        if len(exact) == 1 or len(found) == 1:
            one = (exact or found)[0]
            target = urls.instance(names.get(one.workflow, "?"), one.id)
        else:
            target = urls.home(q=text)
        return RedirectResponse(target, 303, HEADERS)
