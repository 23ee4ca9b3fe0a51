"""What must not leave the process: the values of `.dev.vars`, the run's token, and the files that hold them."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from tests.javascript.conftest import Site, StartSite, needs_runtime

pytestmark = [needs_runtime, pytest.mark.anyio]

PEM = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG\nw0BAQEFAASCBKcwggSj\n-----END PRIVATE KEY-----"
SHOWS_ENVIRONMENT = 'case "/environment": return Response.json([env, process.env]);\n    case "/about":'


async def with_pem(start_site: StartSite, wanted: str) -> Site:
    """ts-plain, loaded again with a secret of several lines and a path that shows its environment."""
    site = await start_site("ts-plain", wanted=wanted)
    (site.folders[0] / ".dev.vars").write_text(f'API_KEY = "secret"\nPEM_KEY="{PEM}"\nODD=it\'s `"odd"`\n')
    site.edit("src/index.ts", 'case "/about":', SHOWS_ENVIRONMENT)
    await site.load()
    return site


def readable_by_others(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if not path.is_symlink() and path.stat().st_mode & 0o077]


@pytest.mark.parametrize("wanted", ["workerd", "wrangler"])
async def test_secrets_reach_the_worker_and_no_line_of_output(start_site: StartSite, wanted: str) -> None:
    site = await with_pem(start_site, wanted)

    env, process_env = await site.get("/environment")

    assert (env["PEM_KEY"], process_env["PEM_KEY"]) == (PEM, PEM)
    assert env["ODD"] == 'it\'s `"odd"`'
    output = "\n".join(line.text for line in site.lines)
    assert not [part for part in (*PEM.split("\n"), "odd") if part in output]


@pytest.mark.parametrize("wanted", ["workerd", "wrangler"])
async def test_user_code_does_not_see_the_runs_token(start_site: StartSite, wanted: str) -> None:
    site = await with_pem(start_site, wanted)

    env, process_env = await site.get("/environment")

    assert not [name for name in (*env, *process_env) if "STEPWELL" in name]


@pytest.mark.parametrize("wanted", ["workerd", "wrangler"])
async def test_generated_files_are_their_owners_alone_and_gone_after_the_stop(
    start_site: StartSite, wanted: str
) -> None:
    site = await start_site("ts-plain", wanted=wanted)
    folder = site.state / "generated"
    assert readable_by_others(folder) == []

    await site.runtime.stop()

    assert not folder.exists()


async def test_files_of_a_run_that_was_killed_are_gone_after_the_next_start(
    start_site: StartSite, tmp_path: Path
) -> None:
    left = tmp_path / "state" / "generated" / "wrangler.json"
    left.parent.mkdir(parents=True)
    left.write_text("{}")

    await start_site("ts-plain")

    assert not left.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="Unix sockets outside of the file system are Linux's")
async def test_what_the_runtime_answers_by_itself_does_not_hold_the_token(start_site: StartSite) -> None:
    site = await start_site("ts-plain")
    doors = (await site.runtime.generation.ready("ts-plain")) if site.runtime.generation else None
    assert doors is not None
    token = next((site.state / "generated").glob("*.capnp")).read_text().partition('\\"token\\": \\"')[2][:40]

    raw = await _raw_answer(doors.http, "/throws")

    assert len(token) == 40
    assert raw.startswith("HTTP/1.1 500")
    assert "Stepwell-Error" in raw
    assert token not in raw


@pytest.mark.skipif(sys.platform != "linux", reason="Unix sockets outside of the file system are Linux's")
async def test_the_runtime_listens_on_no_port(start_site: StartSite) -> None:
    site = await start_site("ts-plain")

    assert not listening_ports(site.pid)


async def _raw_answer(address: int | str, path: str) -> str:
    """What comes back without our front door between."""
    assert isinstance(address, str)
    reader, writer = await asyncio.open_unix_connection(f"\0{address}")
    writer.write(f"GET {path} HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer.decode()


def listening_ports(group: int) -> list[str]:
    """TCP sockets on which the processes of a group listen."""
    inodes = set()
    for process in Path("/proc").iterdir():
        try:
            if (
                process.name.isdigit()
                and int((process / "stat").read_text().rpartition(")")[2].split()[2]) == group
            ):
                inodes |= {str(fd.readlink()) for fd in (process / "fd").iterdir()}
        except OSError:
            continue
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return [row[1] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in inodes]
