"""The graph of a Python Workflow, from its syntax tree.

A step is a function decorated with `step.do`, and runs where it is called, after the steps it depends on; so the
graph follows the calls. Helpers that are handed the step become functions of their own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Final, TypeAlias

from stepwell.emulator.analysis import nodes
from stepwell.emulator.analysis.nodes import Kind, Node
from stepwell.emulator.analysis.python_text import Constants, argument, flag, text_of

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
_TASKS: Final = frozenset({"create_task", "ensure_future"})
_AT_ONCE: Final = frozenset({"gather", "wait", "as_completed", "TaskGroup"})


def python_graph(source: str, class_name: str) -> Node | None:
    """None when the source does not parse or has no such class with a run()."""
    try:
        module = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    classes = [one for one in ast.walk(module) if isinstance(one, ast.ClassDef) and one.name == class_name]
    methods = {one.name: one for one in classes[0].body if isinstance(one, _FUNCTIONS)} if classes else {}
    if "run" not in methods:
        return None
    helpers = {one.name: one for one in module.body if isinstance(one, _FUNCTIONS)}
    reader = _Reader(module, {**helpers, **methods})
    try:
        body = reader.function(methods["run"], step_at=2)
    except RecursionError:
        return None
    return nodes.graph(class_name, reader.used, body)


@dataclass(slots=True)
class _Step:
    """A decorated function."""

    function: Function
    call: ast.Call
    name: str


@dataclass(slots=True)
class _Scope:
    """The meaning of names inside one function."""

    step_name: str
    constants: Constants
    #: Other names of the step, such as `self.step`, shared between methods.
    aliases: set[str]
    steps: dict[str, _Step] = field(default_factory=dict)
    helpers: dict[str, Function] = field(default_factory=dict)
    #: Nodes that were started without being awaited, by the variable that holds them.
    tasks: dict[str, list[Node]] = field(default_factory=dict)
    #: Steps that have run by now: those that depend on them do not run them again.
    done: set[str] = field(default_factory=set)
    depth: int = 0


class _Reader:
    """Walks functions in the order in which they would run."""

    def __init__(self, module: ast.Module, helpers: Mapping[str, Function]) -> None:
        self._module = module
        self._helpers = helpers
        self._order = count(1)
        self._reading: set[str] = set()
        self._aliases: set[str] = set()
        self.used: dict[str, Node] = {}

    def function(self, function: Function, step_at: int, outer: _Scope | None = None) -> list[Node]:
        """The nodes of a body; the parameter at `step_at` is the step."""
        parameters = [*function.args.posonlyargs, *function.args.args]
        named = next((one.arg for one in parameters if one.arg == "step"), None)
        at = parameters[step_at].arg if step_at < len(parameters) else None
        own = named or at or (outer.step_name if outer else "step")
        scope = _Scope(own, Constants.of(self._module.body, function.body), self._aliases)
        if outer is not None:
            scope.steps.update(outer.steps)
            scope.helpers.update(outer.helpers)
        return self.block(function.body, scope)

    # -- statements
    def block(self, body: Iterable[ast.stmt], scope: _Scope) -> list[Node]:
        return [node for statement in body for node in self._statement(statement, scope)]

    def _choice(self, body: Iterable[ast.stmt], scope: _Scope) -> list[Node]:
        """A branch: steps in it may not have run afterwards."""
        done = set(scope.done)
        found = self._inner(body, scope)
        scope.done = done
        return found

    def _inner(self, body: Iterable[ast.stmt], scope: _Scope) -> list[Node]:
        scope.depth += 1
        found = self.block(body, scope)
        scope.depth -= 1
        return found

    def _statement(self, statement: ast.stmt, scope: _Scope) -> list[Node]:
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._declare(statement, scope)
                return []
            case ast.ClassDef():
                return []
            case ast.If():
                return [*self._expression(statement.test, scope), *nodes.if_(self._branches(statement, scope))]
            case ast.For() | ast.AsyncFor():
                return [*self._expression(statement.iter, scope), *nodes.loop(self._inner(statement.body, scope))]
            case ast.While():
                test = self._expression(statement.test, scope)
                return nodes.loop([*test, *self._inner(statement.body, scope)])
            case ast.Try() | ast.TryStar():
                return self._try(statement, scope)
            case ast.With() | ast.AsyncWith():
                return self._with(statement, scope)
            case ast.Match():
                return self._match(statement, scope)
            case ast.Return():
                ended = [nodes.jump("return")] if scope.depth else []
                return [*self._expression(statement.value, scope), *ended]
            case ast.Break():
                return [nodes.jump("break")]
            case ast.Assign(targets=[target], value=ast.Name(id=scope.step_name)):
                scope.aliases.add(ast.unparse(target))
                return []
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                return self._assigned(name, value, scope)
        return [node for child in ast.iter_child_nodes(statement) for node in self._expression(child, scope)]

    def _declare(self, function: Function, scope: _Scope) -> None:
        """A step, or a helper inside of run()."""
        for decorator in function.decorator_list:
            if isinstance(decorator, ast.Call) and _is_step_call(decorator, scope, "do"):
                name = scope.constants.name(argument(decorator, 0, "name"), function.name)
                step = _Step(function, decorator, name)
                scope.steps[function.name] = scope.steps[name] = step
                scope.done.discard(name)
                return
        scope.helpers[function.name] = function

    def _branches(self, statement: ast.If, scope: _Scope) -> list[Node]:
        found = [nodes.branch(text_of(statement.test), self._choice(statement.body, scope))]
        match statement.orelse:
            case []:
                return found
            case [ast.If() as other]:
                return [*found, *self._branches(other, scope)]
        return [*found, nodes.branch(None, self._choice(statement.orelse, scope))]

    def _try(self, statement: ast.Try | ast.TryStar, scope: _Scope) -> list[Node]:
        body = self._inner([*statement.body, *statement.orelse], scope)
        handlers = [node for one in statement.handlers for node in self._inner(one.body, scope)]
        return nodes.try_(body, handlers, self._inner(statement.finalbody, scope))

    def _with(self, statement: ast.With | ast.AsyncWith, scope: _Scope) -> list[Node]:
        group = any(_called(item.context_expr) == "TaskGroup" for item in statement.items)
        items = [node for item in statement.items for node in self._expression(item.context_expr, scope)]
        body = self.block(statement.body, scope)
        return [*items, *(nodes.parallel("all", _without_order(body)) if group else body)]

    def _match(self, statement: ast.Match, scope: _Scope) -> list[Node]:
        cases = []
        for case in statement.cases:
            anything = isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None and case.guard is None
            cases.append(
                nodes.branch(None if anything else ast.unparse(case.pattern), self._choice(case.body, scope))
            )
        return [*self._expression(statement.subject, scope), *nodes.switch(text_of(statement.subject), cases)]

    def _assigned(self, name: str, value: ast.expr, scope: _Scope) -> list[Node]:
        found = self._expression(value, scope)
        if found and isinstance(value, ast.Call) and _called(value) in _TASKS:
            for node in found:
                node["starts"] = next(self._order)
            scope.tasks[name] = found
        return found

    # -- expressions, in the order in which they are evaluated
    def _expression(self, node: ast.AST | None, scope: _Scope) -> list[Node]:
        match node:
            case None | ast.Constant() | ast.Lambda():
                return []
            case ast.Await(value=ast.Name(id=name)) if name in scope.tasks:
                for task in scope.tasks.pop(name):
                    task["resolves"] = next(self._order)
                return []
            case ast.Call():
                return self._call(node, scope)
            case ast.IfExp():
                branches = [
                    nodes.branch(text_of(node.test), self._expression(node.body, scope)),
                    nodes.branch(None, self._expression(node.orelse, scope)),
                ]
                return [*self._expression(node.test, scope), *nodes.if_(branches)]
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp():
                return self._comprehension(node.generators, [node.elt], scope)
            case ast.DictComp():
                return self._comprehension(node.generators, [node.key, node.value], scope)
        return [found for child in ast.iter_child_nodes(node) for found in self._expression(child, scope)]

    def _comprehension(
        self, generators: list[ast.comprehension], values: list[ast.expr], scope: _Scope
    ) -> list[Node]:
        items = [found for one in generators for found in self._expression(one.iter, scope)]
        return [*items, *nodes.loop([found for value in values for found in self._expression(value, scope)])]

    def _call(self, call: ast.Call, scope: _Scope) -> list[Node]:
        if isinstance(call.func, ast.Attribute) and _is_step_call(call, scope):
            return self._step_call(call, call.func.attr, scope)
        if isinstance(call.func, ast.Call) and _is_step_call(call.func, scope, "do"):
            return self._direct(call, call.func, scope)
        name = _called(call)
        if isinstance(call.func, ast.Name) and name in scope.steps:
            return [*self._arguments(call, scope), *self._run(scope.steps[name], scope)]
        if name in _AT_ONCE:
            return nodes.parallel(_kind(call), self._arguments(call, scope))
        helper = scope.helpers.get(name) or self._helpers.get(name)
        if helper is not None:
            return [*self._arguments(call, scope), *self._helper(name, helper, call, scope)]
        return [*self._expression(call.func, scope), *self._arguments(call, scope)]

    def _arguments(self, call: ast.Call, scope: _Scope) -> list[Node]:
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        return [node for one in given for node in self._expression(one, scope)]

    def _step_call(self, call: ast.Call, method: str, scope: _Scope) -> list[Node]:
        constants = scope.constants
        name = constants.name(argument(call, 0, "name"), "")
        match method:
            case "sleep":
                return [nodes.sleep(name, constants.read(argument(call, 1, "duration")))]
            case "sleep_until" | "sleepUntil":
                return [nodes.sleep_until(name, constants.read(argument(call, 1, "timestamp")))]
            case "wait_for_event" | "waitForEvent":
                kind = constants.read(argument(call, 1, "event_type", "type"))
                timeout = constants.read(argument(call, 2, "timeout")) or nodes.DEFAULT_WAIT
                return [nodes.wait_for_event(name, kind, timeout)]
        return []

    def _direct(self, call: ast.Call, decorator: ast.Call, scope: _Scope) -> list[Node]:
        """`step.do("name")(function)`, which makes the step without a decorator's line."""
        given = argument(call, 0)
        function = scope.helpers.get(given.id) if isinstance(given, ast.Name) else None
        name = scope.constants.name(argument(decorator, 0, "name"), function.name if function else "")
        inner = self.function(function, 99, scope) if function is not None else []
        return [nodes.step_do(name, scope.constants.read(argument(decorator, 99, "config")), inner)]

    # -- steps and helpers
    def _run(self, step: _Step, scope: _Scope) -> list[Node]:
        """A step, after those it depends on that have not run yet."""
        wanted = [one for one in self._depends(step, scope) if one.name not in scope.done]
        before: list[Node] = []
        for one in wanted:
            if one.name not in scope.done:
                before += self._run(one, scope)
        scope.done.add(step.name)
        if len(wanted) > 1 and flag(step.call, "concurrent"):
            before = nodes.parallel("all", before)
        config = scope.constants.read(argument(step.call, 99, "config"))
        return [*before, nodes.step_do(step.name, config, self.function(step.function, 99, scope))]

    def _depends(self, step: _Step, scope: _Scope) -> list[_Step]:
        """Dependencies by parameter names, or by `depends=`."""
        listed = argument(step.call, 99, "depends")
        if isinstance(listed, ast.List | ast.Tuple):
            names = [one.id for one in listed.elts if isinstance(one, ast.Name)]
        else:
            names = [one.arg for one in step.function.args.args]
        found = [scope.steps[name] for name in names if name in scope.steps]
        return [one for one in found if one.name != step.name]

    def _helper(self, name: str, helper: Function, call: ast.Call, scope: _Scope) -> list[Node]:
        if name not in self.used:
            if name in self._reading:
                return [nodes.function_call(name)]
            self._reading.add(name)
            place = _step_place(call, scope)
            inner = self.function(helper, place, scope if helper.name in scope.helpers else None)
            self._reading.discard(name)
            if not inner:
                return []
            self.used[name] = nodes.function_def(name, inner)
        return [nodes.function_call(name)]


def _is_step_call(call: ast.Call, scope: _Scope, method: str | None = None) -> bool:
    function = call.func
    if not isinstance(function, ast.Attribute) or not isinstance(function.value, ast.Name | ast.Attribute):
        return False
    owner = ast.unparse(function.value)
    return (owner == scope.step_name or owner in scope.aliases) and method in (None, function.attr)


def _called(node: ast.expr) -> str:
    """The last name of what is called: `gather` of `asyncio.gather(...)`."""
    function = node.func if isinstance(node, ast.Call) else node
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _kind(call: ast.Call) -> Kind:
    if _called(call) == "gather":
        return "all_settled" if flag(call, "return_exceptions") else "all"
    ends_at = argument(call, 99, "return_when")
    return "race" if ends_at is not None and text_of(ends_at).endswith("FIRST_COMPLETED") else "all"


def _step_place(call: ast.Call, scope: _Scope) -> int:
    """At which parameter of a helper the step arrives; a method has its `self` before."""
    shift = 1 if isinstance(call.func, ast.Attribute) else 0
    for place, given in enumerate(call.args):
        if isinstance(given, ast.Name) and given.id == scope.step_name:
            return place + shift
    return 99


def _without_order(found: list[Node]) -> list[Node]:
    """In a group the order of starting says nothing."""
    for node in found:
        node.pop("starts", None)
    return found
