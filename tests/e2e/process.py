"""A `stepwell dev` of its own process, as a person at a terminal meets it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import httpx

#: How long anything may take before a test gives up, in seconds. No test waits this long when all is well.
PATIENCE_S: Final = 20.0
READY: Final = re.compile(r"^(?:\[stepwell\] )?Ready on (http://\S+)$", re.MULTILINE)
FINISHED: Final = frozenset({"complete", "errored", "terminated"})


def stepwell() -> str:
    """The command that belongs to the running interpreter."""
    found = shutil.which("stepwell", path=str(Path(sys.executable).parent))
    assert found is not None, "install the project first: python -m pip install -e '.[test]'"
    return found


def until(
    what: str, probe: Callable[[], Any], patience_s: float = PATIENCE_S, explain: Callable[[], str] = str
) -> Any:
    """What `probe` gives once it is true. Asks often: it waits for another process, not for a time."""
    deadline = time.monotonic() + patience_s
    while not (seen := probe()):
        assert time.monotonic() < deadline, f"never: {what}\n{explain()}"
        time.sleep(0.01)
    return seen


class DevProcess:
    """Starts on construction; use it in a `with` block, which kills what is left of it."""

    def __init__(
        self,
        *arguments: str | Path,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        command: str | Path | None = None,
        descriptors: int | None = None,
    ) -> None:
        """`descriptors`: how many files and sockets it, and each of its children, may have open."""
        limited = [] if descriptors is None else ["/bin/sh", "-c", f'ulimit -n {descriptors}; exec "$@"', "sh"]
        self._process = subprocess.Popen(
            [*limited, str(command or stepwell()), "dev", *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            cwd=cwd,
            env={**_clean_environment(), **(env or {})},
            text=True,
            encoding="utf-8",
        )
        self._lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._client: httpx.Client | None = None

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.append(line)

    def __enter__(self) -> DevProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        if self._client is not None:
            self._client.close()

    # -- the process
    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def output(self) -> str:
        """All that it has printed so far."""
        return "".join(list(self._lines))

    @property
    def last_words(self) -> str:
        """The end of what it has printed, for messages."""
        return "".join(self._lines[-40:])

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def signal(self, number: int = signal.SIGINT) -> None:
        self._process.send_signal(number)

    def kill(self) -> None:
        """Ends it without warning; does nothing when it has ended."""
        if self.is_running:
            self._process.kill()
        self._ended()

    def stop(self) -> int:
        """Ctrl-C; gives the exit code."""
        self.signal()
        return self.wait()

    def wait(self) -> int:
        """Until it ends by itself; gives the exit code."""
        try:
            self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running; it said:\n{self.last_words}") from None
        return self._ended()

    def _ended(self) -> int:
        code = self._process.wait()
        self._reader.join(PATIENCE_S)
        assert self._process.stdout is not None
        self._process.stdout.close()
        return code

    def until_output(self, pattern: str, patience_s: float = PATIENCE_S) -> re.Match[str]:
        """Waits until the output matches the pattern (several lines)."""
        compiled = re.compile(pattern, re.MULTILINE)

        def probe() -> re.Match[str] | None:
            match = compiled.search(self.output)
            assert match or self.is_running, f"it ended and said:\n{self.last_words}"
            return match

        found: re.Match[str] = until(f"{pattern!r} in the output:", probe, patience_s, lambda: self.last_words)
        return found

    # -- HTTP
    @property
    def url(self) -> str:
        """Where it answers; waits for the Ready line."""
        return self.until_output(READY.pattern)[1]

    @property
    def http(self) -> httpx.Client:
        if self._client is None:
            self._client = httpx.Client(base_url=self.url, timeout=PATIENCE_S, trust_env=False)
        return self._client

    def get(self, path: str) -> Any:
        """JSON of a GET that must succeed."""
        return self._json("GET", path)

    def post(self, path: str, body: object = None) -> Any:
        """JSON of a POST that must succeed."""
        return self._json("POST", path, json=body)

    def _json(self, method: str, path: str, **options: Any) -> Any:
        answer = self.http.request(method, path, **options)
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text}\n{self.last_words}"
        return answer.json()

    def advance(self, ms: int) -> None:
        """Moves the clock of the emulator."""
        self.post("/cdn-cgi/local/stepwell/clock", {"advance_ms": ms})

    # -- instances, over Cloudflare's REST API
    def create(self, workflow: str, instance_id: str, params: object = None) -> str:
        body = {"instance_id": instance_id, "params": {} if params is None else params}
        created: str = self.post(f"{_REST}/{workflow}/instances", body)["result"]["id"]
        return created

    def instance(self, workflow: str, instance_id: str) -> Any:
        return self.get(f"{_REST}/{workflow}/instances/{instance_id}")["result"]

    def command(self, workflow: str, instance_id: str, status: str) -> None:
        answer = self.http.patch(f"{_REST}/{workflow}/instances/{instance_id}/status", json={"status": status})
        assert answer.is_success, answer.text

    def until_status(self, workflow: str, instance_id: str, *statuses: str) -> Any:
        """The instance once it has one of the statuses (a finished one if none is given)."""
        wanted = statuses or tuple(FINISHED)

        def reached() -> bool:
            found = self.get(f"{_REST}/{workflow}/instances/{instance_id}?simple=true")["result"]
            other_end = found["status"] in FINISHED and found["status"] not in wanted
            assert not other_end, f"{found}\n{self.last_words}"
            return found["status"] in wanted

        until(f"{workflow}/{instance_id} {' or '.join(wanted)}", reached, explain=lambda: self.last_words)
        return self.instance(workflow, instance_id)


_REST: Final = "/client/v4/accounts/local/workflows"


def _clean_environment() -> dict[str, str]:
    """Ours without what would change what is tested."""
    # Runs of other tests, and of whoever runs the tests, are not to be found.
    registry = Path(tempfile.gettempdir()) / f"stepwell-tests-{os.getpid()}"
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("STEPWELL_", "CLOUDFLARE_", "COV_"))
        and name not in ("FORCE_COLOR", "PYTHONWARNINGS")
    }
    return {**inherited, "XDG_STATE_HOME": str(registry)}
