"""The architecture, as a test: who may import whom, who may hold SQL, who may read the clock.

`ARROWS` is the shortest description of the house that cannot go stale: a row may import what it lists, besides the
standard library and itself. Add a package here when it comes; think twice before adding an arrow.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("bindings", "emulator", "stepwell")
MOST_LINES = 700

GROUND = ("bindings",)
STORED = ("emulator.storage.records", "emulator.storage.store")
READ = (*STORED, "emulator.storage.reader")

ARROWS: dict[str, tuple[str, ...]] = {
    # what user code sees: the ground under everything
    "bindings": (),
    # small things without state
    "emulator.clock": (),
    "emulator.crons": (),
    "emulator.local_time": (),
    "emulator.real_time": ("emulator.storage.records",),
    "emulator.bounded_http": (),
    "emulator.private_files": (),
    "emulator.left": (),
    "emulator.switches": (),
    "emulator.limits": ("emulator.switches",),
    "emulator.threads": ("bindings.context", "bindings.errors"),
    # rows and SQL; no policy
    "emulator.storage": ("emulator.left", "emulator.private_files"),
    # durable execution; neither HTTP nor SQL nor the language of a Worker
    "emulator.engine": (
        *GROUND,
        *STORED,
        "emulator.clock",
        "emulator.crons",
        "emulator.limits",
        "emulator.switches",
    ),
    "emulator.config": ("bindings.durations", "emulator.crons", "emulator.limits", "emulator.switches"),
    # loading and calling user code; handed the engine through bindings.ports
    "emulator.worker": (
        *GROUND,
        "emulator.bounded_http",
        "emulator.clock",
        "emulator.config",
        "emulator.left",
        "emulator.private_files",
        "emulator.terminal.safe",
    ),
    # recorded instances in files, and where they are imported from
    "emulator.histories": (
        "bindings.errors",
        "bindings.values",
        "emulator.private_files",
        "emulator.storage.records",
    ),
    # the structure of a Workflow from its source
    "emulator.analysis": ("emulator.storage.records",),
    # HTTP: what all handlers share; the APIs; the dashboard; the server that puts them on a port
    "emulator.web": (
        *GROUND,
        *READ,
        "emulator.clock",
        "emulator.config",
        "emulator.crons",
        "emulator.engine",
        "emulator.histories",
        "emulator.local_time",
        "emulator.real_time",
        "emulator.threads",
        "emulator.worker.host",
    ),
    "emulator.api": (*GROUND, *READ, "emulator.analysis", "emulator.engine", "emulator.web"),
    "emulator.dashboard": (
        *GROUND,
        *READ,
        "emulator.analysis",
        "emulator.clock",
        "emulator.engine",
        "emulator.histories",
        "emulator.limits",
        "emulator.real_time",
        "emulator.storage.excerpts",
        "emulator.storage.view_records",
        "emulator.web",
    ),
    # requests to a running Stepwell, and the MCP server that makes them for coding agents
    "emulator.client": ("emulator.web.urls",),
    "emulator.mcp": ("emulator.client", "emulator.web.urls"),
    "emulator.server": (
        "emulator.api",
        "emulator.bounded_http",
        "emulator.clock",
        "emulator.dashboard",
        "emulator.mcp",
        "emulator.web",
        "emulator.worker.host",
    ),
    "emulator.terminal": (*GROUND, *READ, "emulator.left", "emulator.local_time", "emulator.worker.console"),
    # the one place that puts parts together
    "emulator.app": (
        *GROUND,
        "emulator.clock",
        "emulator.config",
        "emulator.engine",
        "emulator.histories",
        "emulator.left",
        "emulator.limits",
        "emulator.local_time",
        "emulator.private_files",
        "emulator.server",
        "emulator.storage",
        "emulator.terminal",
        "emulator.threads",
        "emulator.web",
        "emulator.worker",
    ),
    # what users test with: it builds what the app builds
    "emulator.testing": (
        *GROUND,
        *STORED,
        "emulator.app",
        "emulator.clock",
        "emulator.config",
        "emulator.engine",
        "emulator.histories",
        "emulator.limits",
        "emulator.storage.sqlite",
        "emulator.switches",
        "emulator.web.urls",
        "emulator.worker",
    ),
    # the command line; nothing imports it but `python -m stepwell`
    "emulator.cli": (
        "bindings.durations",
        "emulator.app",
        "emulator.client",
        "emulator.config",
        "emulator.histories",
        "emulator.local_time",
        "emulator.mcp",
        "emulator.storage.records",
        "emulator.terminal.safe",
        "emulator.testing.dev_introspection",
    ),
    # the import name of an installed Stepwell
    "stepwell": ("bindings", "emulator.cli", "emulator.engine", "emulator.testing"),
}

LIBRARIES: dict[str, tuple[str, ...]] = {
    "bindings": ("httpx",),
    "emulator.analysis": ("tree_sitter", "tree_sitter_typescript"),
    "emulator.api": ("starlette",),
    "emulator.app": ("packaging",),
    "emulator.bounded_http": ("uvicorn",),
    "emulator.cli": ("click", "rich"),
    "emulator.client": ("httpx",),
    "emulator.crons": ("cronsim",),
    "emulator.dashboard": ("jinja2", "starlette"),
    "emulator.engine": ("cronsim",),
    "emulator.histories": ("httpx",),
    "emulator.mcp": ("mcp", "pydantic", "starlette"),
    "emulator.server": ("starlette", "uvicorn"),
    "emulator.storage": ("apsw",),
    "emulator.testing": ("click", "httpx", "pytest", "rich"),
    "emulator.web": ("cronsim", "starlette"),
    "emulator.worker": ("httptools", "httpx", "uvicorn", "watchfiles", "websockets"),
}

#: Of a library that a package may use, the files that do.
ONLY_IN = {
    "apsw": {
        "emulator/storage/checking.py",
        "emulator/storage/checkpoints.py",
        "emulator/storage/connection.py",
        "emulator/storage/inspection.py",
        "emulator/storage/reader.py",
        "emulator/storage/sqlite.py",
        "emulator/storage/turn.py",
    },
    "jinja2": {"emulator/dashboard/parts/render.py"},
}

#: Files of the dashboard that read, act and answer. All others turn records into view models and import none of
#: `NOT_FOR_VIEWS`.
DASHBOARD_HANDLERS = {
    "answers",
    "graph_reads",
    "handler",
    "jobs",
    "reads",
    "routes",
    "selected_run",
    "snippets",
    "static_files",
    "step_reads",
}
NOT_FOR_VIEWS = (
    "emulator.clock",
    "emulator.engine",
    "emulator.web",
    "emulator.analysis",
    "emulator.storage.store",
    "starlette",
)

#: Time that is not the product's: user code's own timers, and how long a browser or a test may wait.
CLOCK_READERS = {
    "emulator/clock.py": "the clock itself",
    "bindings/js/web.py": "setTimeout and AbortSignal.timeout of user code run on real time, as on Cloudflare",
    "emulator/app/startup_log.py": "how long the imports take, the clock's own among them",
    "emulator/bounded_http.py": "how long a refused client may go on sending",
    "emulator/mcp/tools.py": "how long an agent waits for an instance",
    "emulator/web/pauses.py": "how long a request is held open",
}

SQL = re.compile(
    r"\b(SELECT .* FROM|INSERT INTO|UPDATE \w+ SET|DELETE FROM|CREATE (TABLE|INDEX)|PRAGMA)\b", re.DOTALL
)
CLOCK_CALLS = re.compile(
    r"(time\.(time|monotonic|perf_counter|process_time)(_ns)?|time\.sleep|(datetime|date)\.(now|utcnow|today)"
    r"|asyncio\.(timeout|timeout_at|wait_for)|.*\.call_(later|at)|.*loop(\(\))?\.time)\Z"
)


class Module:
    """One file of ours: its name, its tree, and what it imports."""

    def __init__(self, path: Path) -> None:
        self.path = path.relative_to(ROOT).as_posix()
        parts = path.relative_to(ROOT).with_suffix("").parts
        self.name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        self.is_package = parts[-1] == "__init__"
        self.tree = ast.parse(path.read_text(encoding="utf-8"))

    @property
    def group(self) -> str:
        """The row of the table: a room of `emulator` or a file in it, else the package."""
        first, *rest = self.name.split(".")
        return f"emulator.{rest[0]}" if first == "emulator" and rest else first

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(self.tree))

    @cached_property
    def imports(self) -> list[str]:
        """Modules that it names, wherever it does."""
        return [name for node in self.nodes for name in _imported(node)]

    @cached_property
    def imports_at_once(self) -> list[str]:
        """Modules that are loaded when it is."""
        return [name for node in _outside_of_functions(self.tree) for name in _imported(node)]

    def texts(self) -> Iterator[str]:
        """String constants that are no docstrings."""
        docstrings = {
            id(node.body[0].value)
            for node in self.nodes
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            and node.body
            and isinstance(node.body[0], ast.Expr)
        }
        for node in self.nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
                yield node.value

    def calls(self) -> Iterator[tuple[str, ast.Call]]:
        return ((_dotted(node.func), node) for node in self.nodes if isinstance(node, ast.Call))


def _imported(node: ast.AST) -> Iterator[str]:
    """The modules that an import names, ours as in the checkout: without the leading `stepwell.`"""
    if isinstance(node, ast.Import):
        yield from (in_checkout(alias.name) for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module is not None:
        for alias in node.names:
            full = in_checkout(f"{node.module}.{alias.name}")
            yield full if full in modules() else in_checkout(node.module)


def in_checkout(name: str) -> str:
    return re.sub(r"^stepwell\.(?=emulator\b|bindings\b)", "", name)


def _outside_of_functions(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.expr):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        yield node
        yield from _outside_of_functions(node)


def _dotted(node: ast.expr) -> str:
    """`a.b().c` as it is written, for names, attributes and calls."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return f"{_dotted(node.func)}()" if isinstance(node, ast.Call) else ""


@cache
def modules() -> dict[str, Module]:
    """Every module of ours by name; what is written for users (templates) is theirs."""
    files = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    found = [Module(path) for path in files if "templates" not in path.parts]
    return {module.name: module for module in found}


def is_ours(name: str) -> bool:
    return name.split(".")[0] in PACKAGES


def group_of(name: str) -> str:
    return modules()[name].group if name in modules() else name


ALL = sorted(modules().values(), key=lambda module: module.name)


def test_every_package_has_a_row_in_the_table() -> None:
    groups = {module.group for module in ALL} - {"emulator"}

    assert groups == set(ARROWS)


def test_a_module_imports_only_what_its_row_lists() -> None:
    wrong = [
        f"{module.name} -> {name}"
        for module in ALL
        for name in module.imports
        if is_ours(name) and not is_allowed(module.group, name)
    ]

    assert wrong == []


def is_allowed(group: str, name: str) -> bool:
    """Whether a module of the group may import the module `name`."""
    if group_of(name) in (group, "emulator"):
        return True
    return any(name == one or name.startswith(f"{one}.") for one in ARROWS.get(group, ()))


def test_a_module_uses_only_the_libraries_of_its_row() -> None:
    wrong = [
        f"{module.name} -> {library}"
        for module in ALL
        for library in libraries(module) - set(LIBRARIES.get(module.group, ()))
    ]

    assert wrong == []


@pytest.mark.parametrize("group", LIBRARIES)
def test_every_library_of_a_row_is_used(group: str) -> None:
    used = {library for module in ALL if module.group == group for library in libraries(module)}

    assert used == set(LIBRARIES[group])


@pytest.mark.parametrize("group", ARROWS)
def test_every_arrow_of_a_row_is_used(group: str) -> None:
    names = {name for module in ALL if module.group == group for name in module.imports}

    unused = [arrow for arrow in ARROWS[group] if not any(f"{name}.".startswith(f"{arrow}.") for name in names)]

    assert unused == []


def test_our_modules_are_imported_by_their_installed_names() -> None:
    wrong = [
        f"{module.path}: {ast.unparse(node)}"
        for module in ALL
        for node in module.nodes
        if re.match(r"(from|import) (emulator|bindings)\b", ast.unparse(node))
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]

    assert wrong == []


def test_views_of_the_dashboard_are_pure() -> None:
    wrong = [
        f"{module.path} -> {name}"
        for module in ALL
        if module.group == "emulator.dashboard" and Path(module.path).stem not in DASHBOARD_HANDLERS
        for name in module.imports
        if f"{name}.".startswith(tuple(f"{other}." for other in NOT_FOR_VIEWS))
    ]

    assert wrong == []


@pytest.mark.parametrize("library", ONLY_IN)
def test_a_library_is_used_in_its_files_only(library: str) -> None:
    assert {module.path for module in ALL if library in libraries(module)} <= ONLY_IN[library]


def libraries(module: Module) -> set[str]:
    return {name.split(".")[0] for name in module.imports if not is_ours(name)} - set(sys.stdlib_module_names)


@pytest.mark.parametrize(
    ("group", "name"),
    [
        ("bindings", "emulator.clock"),
        ("emulator.engine", "emulator.storage.sqlite"),
        ("emulator.engine", "emulator.worker.host"),
        ("emulator.storage", "emulator.clock"),
        ("emulator.worker", "emulator.engine.engine"),
        ("emulator.web", "emulator.dashboard.routes"),
        ("emulator.api", "emulator.dashboard.routes"),
        ("emulator.server", "emulator.storage.sqlite"),
        ("emulator.app", "emulator.testing.plugin"),
    ],
)
def test_arrows_that_must_never_come_are_refused(group: str, name: str) -> None:
    assert not is_allowed(group, name)


def test_bindings_never_import_the_emulator() -> None:
    wrong = [
        module.name
        for module in ALL
        if module.group == "bindings" and any(name.split(".")[0] == "emulator" for name in module.imports)
    ]

    assert wrong == []


def test_nothing_imports_the_command_line() -> None:
    wrong = [
        module.name
        for module in ALL
        if module.group != "emulator.cli"
        and module.name != "stepwell.__main__"
        and any(group_of(name) == "emulator.cli" for name in module.imports)
    ]

    assert wrong == []


def test_sql_is_in_storage_alone() -> None:
    wrong = [
        f"{module.path}: {text}"
        for module in ALL
        if module.group != "emulator.storage"
        for text in module.texts()
        if SQL.search(text)
    ]

    assert wrong == []


def test_only_the_clock_reads_the_clock() -> None:
    wrong = [
        f"{module.path}: {call}"
        for module in ALL
        if module.path not in CLOCK_READERS
        for call, _ in module.calls()
        if CLOCK_CALLS.match(call) and "clock.call_at" not in call.lower()
    ]

    assert wrong == []


def test_sleeping_is_only_giving_way() -> None:
    wrong = [
        f"{module.path}: {ast.unparse(node)}"
        for module in ALL
        if module.path not in CLOCK_READERS
        for call, node in module.calls()
        if call == "asyncio.sleep" and ast.unparse(node) != "asyncio.sleep(0)"
    ]

    assert wrong == []


def test_the_exceptions_of_the_clock_are_needed() -> None:
    readers = {module.path for module in ALL if any(CLOCK_CALLS.match(call) for call, _ in module.calls())}

    assert set(CLOCK_READERS) <= readers


def test_no_module_is_part_of_an_import_cycle() -> None:
    graph = {
        module.name: {name for name in module.imports_at_once if name in modules() and name != module.name}
        for module in ALL
    }

    assert cycles(graph) == []


def test_no_module_is_part_of_a_cycle_of_types() -> None:
    """Counting imports for type checking alone: the engine's parts know each other in one direction."""
    graph = {
        module.name: {name for name in module.imports if name in modules() and module.group == group_of(name)}
        - {module.name}
        for module in ALL
        if module.group in ("emulator.engine", "emulator.storage", "emulator.api")
    }

    assert cycles({name: names & graph.keys() for name, names in graph.items()}) == []


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Groups of modules that reach each other (Tarjan)."""
    found: list[list[str]] = []
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(graph[node]):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            members = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(members) > 1:
                found.append(sorted(members))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return found


def test_the_search_for_cycles_finds_one() -> None:
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]


SOURCES = sorted(
    path.relative_to(ROOT).as_posix()
    for package in (*PACKAGES, "tests")
    for suffix in ("py", "mjs", "js", "sql", "css", "html")
    for path in (ROOT / package).rglob(f"*.{suffix}")
    if "node_modules" not in path.parts
)


def test_no_file_is_longer_than_one_can_read() -> None:
    lines = {path: len((ROOT / path).read_text(encoding="utf-8").splitlines()) for path in SOURCES}

    assert {path: count for path, count in lines.items() if count > MOST_LINES} == {}


def test_every_module_says_what_it_is_for() -> None:
    silent = [module.path for module in ALL if ast.get_docstring(module.tree) is None]

    assert silent == []
