"""Calls to a server that may die at any moment, repeated until each was answered."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any, Final

import httpx

from tests.e2e.process import READY, DevProcess

#: So many new instances in each life of the process: they are to meet many deaths.
_PER_LIFE: Final = 2


class Traffic:
    """`created` and `told` are what the server has confirmed, over all its lives."""

    def __init__(self, instances: int, undone: int, ledger: Path) -> None:
        """`instances` of the Workflow that completes, `undone` of the one that rolls back."""
        self._ids = [f"i-{n}" for n in range(instances)]
        self._undone = [f"u-{n}" for n in range(undone)]
        self._ledger = ledger
        self.created: set[str] = set()
        self.told: set[str] = set()

    def during(self, process: DevProcess) -> threading.Thread:
        """Asks in a thread of its own for as long as the process answers."""
        thread = threading.Thread(target=self._ask, args=(process,), daemon=True)
        thread.start()
        return thread

    def finish(self, process: DevProcess) -> None:
        """Asks for all that is left of a process that nobody kills."""
        with httpx.Client(base_url=process.url, trust_env=False, timeout=20) as client:
            while len(self.told) < len(self._ids) or not self.created.issuperset(self._undone):
                self._round(client, most=len(self._ids))

    def _ask(self, process: DevProcess) -> None:
        while process.is_running and not (ready := READY.search(process.output)):
            time.sleep(0.005)
        if not process.is_running or ready is None:
            return
        try:
            with httpx.Client(base_url=ready[1], trust_env=False, timeout=5) as client:
                self._round(client, _PER_LIFE)
        except httpx.TransportError:
            return  # it died; what it did not confirm is asked again

    def _round(self, client: httpx.Client, most: int) -> None:
        """Sends all events that are due, and creates `most` instances."""
        for instance_id in [i for i in self._ids if i in self.created and i not in self.told]:
            self._post(client, "/event", {"id": instance_id, "n": _number(instance_id)})
            self.told.add(instance_id)
        new = [i for i in self._ids if i not in self.created][:most]
        new += [i for i in self._undone if i not in self.created][: max(most // 2, 1)]
        for instance_id in new:
            params = {"n": _number(instance_id), "ledger": str(self._ledger)}
            self._post(client, "/create", {"id": instance_id, "params": params})
            self.created.add(instance_id)

    def _post(self, client: httpx.Client, path: str, body: dict[str, Any]) -> None:
        answer = client.post(path, json=body)
        assert answer.is_success, answer.text


def _number(instance_id: str) -> int:
    return int(instance_id.partition("-")[2])


def rounds(n: int) -> int:
    """How often the instance repeats its last step (as the Worker has it)."""
    return 20 + n % 10


def expected_output(n: int) -> list[int]:
    """What run() of the instance returns, however often it was interrupted."""
    return [n, n, n + 1, n + 2, n + 3, n * 2, n * 3, n, *(n * i for i in range(rounds(n)))]
