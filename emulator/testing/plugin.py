"""The pytest plugin: fixtures, options, and the report of a failed test.

It imports nothing of the engine before a test asks for one, so that others' test runs do not pay for it, and
coverage sees what is imported.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable, Coroutine, Generator, Iterator
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from stepwell.emulator.testing.one_test import OneTest
    from stepwell.emulator.testing.remote_test import RemoteTest
    from stepwell.emulator.testing.target import TargetServer

_RUN: Final[pytest.StashKey[OneTest | RemoteTest]] = pytest.StashKey()
_TARGET: Final[pytest.StashKey[TargetServer]] = pytest.StashKey()
_REPORT: Final = pytest.StashKey[str]()
_MARKER: Final = (
    "workflows(project=None, env=None, vars=None, limits=None, compat=None, auto_advance=None, start_at=None, "
    "time_scale=None, on_disk=False, check_mocks=True, patience=None): how Stepwell's fixtures set up the engine "
    "of this test"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("stepwell", "Cloudflare Workflows (stepwell)")
    group.addoption(
        "--workflow-replay",
        choices=("auto", "always"),
        default="auto",
        help="always: replay run() at every wait and fail tests with nondeterministic code",
    )
    group.addoption(
        "--workflow-target",
        default="stepwell",
        metavar="TARGET",
        help="engine that runs the tests: stepwell, wrangler, workerd, or the URL of a running server; "
        "on all but stepwell, tests that need more than Cloudflare's API are skipped",
    )
    parser.addini("workflow_project", "folder or wrangler file of the Worker whose Workflows tests use", default="")
    parser.addini("workflow_auto_advance", "advance the clock automatically", type="bool", default=False)
    parser.addini("workflow_patience", "real seconds without progress before a test fails", default="5")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _MARKER)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    """Before any test module is imported: `from workers import WorkflowEntrypoint` works in all of them."""
    from stepwell.emulator.worker.python.importer import ProjectFinder

    ProjectFinder.installed()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuses markers that mean nothing, before any test runs."""
    with_marker = [item for item in items if item.get_closest_marker("workflows") is not None]
    if not with_marker:
        return
    from stepwell.emulator.testing.markers import problems_of

    problems = {item.nodeid: found for item in with_marker if (found := problems_of(item))}
    if problems:
        lines = [f"{test}: @pytest.mark.workflows: {one}" for test, found in problems.items() for one in found]
        raise pytest.UsageError("\n".join(lines))


# -- fixtures --------------------------------------------------------------------------------------------------


@pytest.fixture
def workflow_project() -> None:
    """To be overridden: the folder or wrangler file of the Worker under test; None for the usual search."""
    return


@pytest.fixture
def workflow_run(request: pytest.FixtureRequest, workflow_project: Any) -> Iterator[OneTest | RemoteTest]:
    """What the other fixtures share; tests need not know it."""
    run = _run_of(request, workflow_project)
    request.node.stash[_RUN] = run
    yield run
    run.abandon()


def _run_of(request: pytest.FixtureRequest, project: Any) -> OneTest | RemoteTest:
    from stepwell.emulator.testing.one_test import OneTest, is_plain, project_of

    wanted: str = request.config.getoption("workflow_target")
    if wanted == "stepwell":
        return OneTest.of(request, project)
    from stepwell.emulator.testing.remote_test import RemoteTest
    from stepwell.emulator.testing.target import TargetError, TargetServer

    path = project_of(request, project)
    server = request.config.stash.setdefault(_TARGET, TargetServer(wanted))
    try:
        return RemoteTest(server.of(path), path, plain=is_plain(request))
    except TargetError as error:
        pytest.skip(str(error))


def pytest_unconfigure(config: pytest.Config) -> None:
    server = config.stash.get(_TARGET, None)
    if server is not None:
        server.stop()


@pytest.fixture
def workflows(workflow_run: OneTest | RemoteTest) -> Any:
    """The Workflows of this test on an engine of its own: of the project, and those it defines."""
    return workflow_run.workflows


@pytest.fixture
def clock(workflow_run: OneTest | RemoteTest) -> Any:
    """The time of this test's engine: `await clock.advance("1 day")`."""
    return workflow_run.clock


@pytest.fixture
def engine(workflow_run: OneTest | RemoteTest) -> Any:
    """This test's engine: `engine.crash()`, `await engine.restart()`."""
    return workflow_run.engine


@pytest.fixture
def auto_advance(workflow_run: OneTest | RemoteTest) -> None:
    """Moves the clock by itself whenever everything waits for it."""
    workflow_run.move_clock_by_itself()


# -- running a test --------------------------------------------------------------------------------------------


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Ends the engine of a test with it, on the same loop, whichever plugin provides that."""
    run = item.stash.get(_RUN, None)
    if run is None or not isinstance(item, pytest.Function):
        return (yield)
    original = item.obj
    if not inspect.iscoroutinefunction(original):
        return (yield from _plain(item, run))
    item.obj = _ending(original, item, run)
    try:
        return (yield)
    finally:
        item.obj = original


def _plain(item: pytest.Item, run: OneTest | RemoteTest) -> Generator[None, Any, Any]:
    try:
        result = yield
    except BaseException:
        item.stash[_REPORT] = run.summary()
        run.end_plain(passed=False)
        raise
    run.end_plain(passed=True)
    return result


def _ending(
    test: Callable[..., Coroutine[Any, Any, Any]], item: pytest.Item, run: OneTest | RemoteTest
) -> Callable[..., Any]:
    @functools.wraps(test)
    async def ending(**arguments: Any) -> None:
        __tracebackhide__ = True
        try:
            await test(**arguments)
        except BaseException:
            item.stash[_REPORT] = run.summary()
            await run.end(passed=False)
            raise
        await run.end(passed=True)

    return ending


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Runs an async test that uses our fixtures and that no other plugin runs."""
    if _RUN not in pyfuncitem.stash or not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    if "anyio_backend" in pyfuncitem.funcargs:
        return None
    names = pyfuncitem._fixtureinfo.argnames
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Shows what happened to the instances of a test that failed."""
    report = yield
    text = item.stash.get(_REPORT, "")
    if report.failed and call.when == "call" and text:
        from stepwell.emulator.testing.errors import WorkflowTestError

        if call.excinfo is None or not isinstance(call.excinfo.value, WorkflowTestError):
            report.sections.append(("Workflow instances", text))
    return report
