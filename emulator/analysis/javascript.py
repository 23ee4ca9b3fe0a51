"""The graph of a JavaScript or TypeScript Workflow, from its syntax tree.

Promises that are awaited later than they are made carry the numbers of both moments, so that what overlaps shows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import count
from typing import Final

from stepwell.emulator.analysis import nodes
from stepwell.emulator.analysis.javascript_text import (
    FUNCTIONS,
    Constants,
    Tree,
    arguments,
    called,
    everything,
    line,
    parse,
    text,
    unwrapped,
)
from stepwell.emulator.analysis.nodes import Kind, Node

_PARALLEL: Final[dict[str, Kind]] = {"all": "all", "allSettled": "all_settled", "any": "any", "race": "race"}
_EACH: Final = frozenset({"map", "forEach", "flatMap", "filter", "reduce", "some", "every", "from"})
_THEN: Final = frozenset({"then", "catch", "finally"})
_LOOPS: Final = frozenset({"for_statement", "for_in_statement", "while_statement", "do_statement"})
_CLASSES: Final = ("class_declaration", "class", "abstract_class_declaration")


def javascript_graph(source: str, class_name: str) -> Node | None:
    """None if the class is missing or has no run()."""
    root = parse(source)
    declared = _class(root, class_name)
    methods = dict(_methods(declared)) if declared is not None else {}
    if "run" not in methods:
        return None
    reader = _Reader(Constants().within(root), methods)
    try:
        body = reader.function(methods["run"], step_at=1)
    except RecursionError:
        return None
    return nodes.graph(class_name, reader.used, body)


def run_method(root: Tree, class_name: str) -> Tree | None:
    """The run() of an exported class."""
    declared = _class(root, class_name)
    return dict(_methods(declared)).get("run") if declared is not None else None


def _class(root: Tree, class_name: str) -> Tree | None:
    """The class that is exported under a name: by its own, by an alias, or as the value of a variable."""
    wanted = {class_name}
    for node in everything(root):
        if node.type == "export_specifier":
            name, alias = node.child_by_field_name("name"), node.child_by_field_name("alias")
            if name is not None and alias is not None and text(alias) == class_name:
                wanted.add(text(name))
    for node in everything(root):
        name = node.child_by_field_name("name")
        if name is None or text(name) not in wanted:
            continue
        if node.type in _CLASSES:
            return node
        value = node.child_by_field_name("value") if node.type == "variable_declarator" else None
        if value is not None and unwrapped(value).type in _CLASSES:
            return unwrapped(value)
    return None


def _methods(declared: Tree) -> Iterable[tuple[str, Tree]]:
    body = declared.child_by_field_name("body")
    for member in body.named_children if body is not None else ():
        name, value = member.child_by_field_name("name"), member.child_by_field_name("value")
        if name is None:
            continue
        if member.type == "method_definition":
            yield text(name), member
        elif value is not None and value.type in FUNCTIONS:  # a field that holds an arrow function
            yield text(name), value


@dataclass(slots=True)
class _Scope:
    """The meaning of names inside one function. `depth` counts the loops and branches around a statement."""

    step_name: str
    constants: Constants
    tasks: dict[str, list[Node]] = field(default_factory=dict)
    depth: int = 0


class _Reader:
    def __init__(self, constants: Constants, methods: dict[str, Tree]) -> None:
        self._constants = constants
        self._methods = methods
        self._order = count(1)
        self._reading: set[str] = set()
        #: Other names of the step, such as `this.step`, shared between methods.
        self._aliases: set[str] = set()
        self.used: dict[str, Node] = {}

    def function(self, function: Tree, step_at: int, outer: _Scope | None = None) -> list[Node]:
        """The nodes of a body; the parameter at `step_at` is the step."""
        body = function.child_by_field_name("body")
        if body is None:
            return []
        parameters = _parameters(function)
        own = parameters[step_at] if step_at < len(parameters) else None
        name = own or (outer.step_name if outer is not None else "step")
        constants = (outer.constants if outer is not None else self._constants).within(body)
        scope = _Scope(name, constants)
        if body.type == "statement_block":
            return self._block(body, scope)
        return self._expression(body, scope)

    # -- statements
    def _block(self, block: Tree, scope: _Scope) -> list[Node]:
        return [node for statement in block.named_children for node in self._statement(statement, scope)]

    def _inner(self, statement: Tree | None, scope: _Scope) -> list[Node]:
        if statement is None:
            return []
        scope.depth += 1
        found = self._statement(statement, scope)
        scope.depth -= 1
        return found

    def _statement(self, node: Tree, scope: _Scope) -> list[Node]:
        match node.type:
            case "statement_block" | "else_clause" | "labeled_statement" | "finally_clause":
                return self._block(node, scope)
            case "if_statement":
                condition = self._field(node, "condition", scope)
                return [*condition, *nodes.if_(self._branches(node, scope))]
            case "switch_statement":
                return self._switch(node, scope)
            case "try_statement":
                return self._try(node, scope)
            case "return_statement":
                ended = [nodes.jump("return")] if scope.depth else []
                return [*self._children(node, scope), *ended]
            case "break_statement":
                return [nodes.jump("break")]
            case "variable_declarator":
                return self._declared(node, scope)
            case "function_declaration" | "class_declaration":
                return []
        if node.type in _LOOPS:
            return self._loop(node, scope)
        if node.type.endswith(("_statement", "_declaration")):
            return [found for child in node.named_children for found in self._statement(child, scope)]
        return self._expression(node, scope)

    def _field(self, node: Tree, name: str, scope: _Scope) -> list[Node]:
        return self._expression(node.child_by_field_name(name), scope)

    def _children(self, node: Tree, scope: _Scope) -> list[Node]:
        return [found for child in node.named_children for found in self._expression(child, scope)]

    def _branches(self, node: Tree, scope: _Scope) -> list[Node]:
        condition = node.child_by_field_name("condition")
        ways = [
            nodes.branch(
                line(condition) if condition is not None else None,
                self._inner(node.child_by_field_name("consequence"), scope),
            )
        ]
        otherwise = node.child_by_field_name("alternative")
        if otherwise is None:
            return ways
        nested = otherwise.named_children
        if len(nested) == 1 and nested[0].type == "if_statement":
            return [*ways, *self._branches(nested[0], scope)]
        return [*ways, nodes.branch(None, self._inner(otherwise, scope))]

    def _switch(self, node: Tree, scope: _Scope) -> list[Node]:
        value, body = node.child_by_field_name("value"), node.child_by_field_name("body")
        if value is None or body is None:
            return []
        cases = []
        for case in body.named_children:
            given = case.child_by_field_name("value")
            statements = [
                child for child in case.named_children if child != given and child.type != "break_statement"
            ]
            scope.depth += 1
            inner = [found for statement in statements for found in self._statement(statement, scope)]
            scope.depth -= 1
            cases.append(nodes.branch(line(given) if given is not None else None, inner))
        return [*self._expression(value, scope), *nodes.switch(line(value), cases)]

    def _try(self, node: Tree, scope: _Scope) -> list[Node]:
        body = self._inner(node.child_by_field_name("body"), scope)
        handler = node.child_by_field_name("handler")
        caught = self._inner(handler.child_by_field_name("body"), scope) if handler is not None else []
        return nodes.try_(body, caught, self._inner(node.child_by_field_name("finalizer"), scope))

    def _loop(self, node: Tree, scope: _Scope) -> list[Node]:
        if node.type == "for_in_statement":
            return [
                *self._field(node, "right", scope),
                *nodes.loop(self._inner(node.child_by_field_name("body"), scope)),
            ]
        first = self._field(node, "initializer", scope)
        condition = self._field(node, "condition", scope)
        body = self._inner(node.child_by_field_name("body"), scope)
        return [*first, *nodes.loop([*condition, *body, *self._field(node, "increment", scope)])]

    def _declared(self, node: Tree, scope: _Scope) -> list[Node]:
        """A variable that holds a promise of steps: they have started, and end where it is awaited."""
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        found = self._expression(value, scope)
        if name is None or value is None or name.type != "identifier" or value.type != "call_expression":
            return found
        if found and called(value)[1] not in _EACH:
            scope.tasks[text(name)] = self._started(found)
        return found

    def _started(self, found: list[Node]) -> list[Node]:
        for node in found:
            node["starts"] = next(self._order)
        return found

    # -- expressions
    def _expression(self, node: Tree | None, scope: _Scope) -> list[Node]:
        if node is None or node.type in FUNCTIONS or node.type.startswith("class"):
            return []
        match node.type:
            case "await_expression":
                return self._awaited(node, scope)
            case "call_expression":
                return self._call(node, scope)
            case "assignment_expression" if self._is_step(_right(node), scope):
                self._aliases.add(text(node.named_children[0]))
                return []
            case "ternary_expression":
                condition = node.child_by_field_name("condition")
                ways = [
                    nodes.branch(
                        line(condition) if condition is not None else None, self._field(node, "consequence", scope)
                    ),
                    nodes.branch(None, self._field(node, "alternative", scope)),
                ]
                return [*self._expression(condition, scope), *nodes.if_(ways)]
        return self._children(node, scope)

    def _awaited(self, node: Tree, scope: _Scope) -> list[Node]:
        for task in scope.tasks.pop(text(unwrapped(node)), []):
            task["resolves"] = next(self._order)
        return self._children(node, scope)

    def _call(self, call: Tree, scope: _Scope) -> list[Node]:
        owner, name = called(call)
        given = arguments(call)
        if self._is_step(owner, scope):
            return self._step(name, given, scope)
        if owner == "Promise" and name in _PARALLEL:
            return self._parallel(_PARALLEL[name], given, scope)
        if name in _EACH and owner:
            return [*self._children(call, scope), *self._each(given, scope)]
        if name in _THEN and owner:
            return [*self._children(call, scope), *self._callbacks(given, scope)]
        helper = self._helper(owner, name, scope)
        if helper is not None:
            return [*self._arguments(given, scope), *self._called(name, helper, given, scope)]
        return [*self._children(call, scope), *self._callbacks(_called_at_once(call), scope)]

    def _is_step(self, owner: str, scope: _Scope) -> bool:
        """Whether a text names the step: its parameter, a constant that is it, or what it was assigned to."""
        known = scope.constants.get(owner)
        return scope.step_name in (owner, text(known) if known is not None else "") or owner in self._aliases

    def _arguments(self, given: list[Tree], scope: _Scope) -> list[Node]:
        return [node for one in given for node in self._expression(one, scope)]

    def _parallel(self, kind: Kind, given: list[Tree], scope: _Scope) -> list[Node]:
        """Steps started inside it. Promises started before end here."""
        inner = self._arguments(given, scope)
        for one in given:
            for name in everything(one):
                for task in scope.tasks.pop(text(name), []) if name.type == "identifier" else ():
                    task["resolves"] = next(self._order)
        return nodes.parallel(kind, inner)

    def _each(self, given: list[Tree], scope: _Scope) -> list[Node]:
        """A callback that runs for every item."""
        return nodes.loop(self._callbacks(given, scope))

    def _callbacks(self, given: list[Tree], scope: _Scope) -> list[Node]:
        """The effect of inline functions passed as arguments. When they return, run() continues."""
        inner = [node for one in given if one.type in FUNCTIONS for node in self.function(one, 99, scope)]
        return [node for node in inner if node.get("kind") != "return"]

    # -- steps and helpers
    def _step(self, method: str, given: list[Tree], scope: _Scope) -> list[Node]:
        constants = scope.constants
        name = str(constants.read(given[0])) if given else ""
        second = constants.read(given[1]) if len(given) > 1 else None
        match method:
            case "do":
                callback = next((one for one in given[1:] if one.type in FUNCTIONS), None)
                inner = self.function(callback, 99, scope) if callback is not None else []
                return [nodes.step_do(name, second, [node for node in inner if node["type"] != "break"])]
            case "sleep":
                return [nodes.sleep(name, second)]
            case "sleepUntil":
                return [nodes.sleep_until(name, second)]
            case "waitForEvent":
                options = second if isinstance(second, dict) else {}
                timeout = options.get("timeout", nodes.DEFAULT_WAIT)
                return [nodes.wait_for_event(name, options.get("type", "undefined"), timeout)]
        return []

    def _helper(self, owner: str, name: str, scope: _Scope) -> Tree | None:
        """A method of the class, or a function that is declared where the call can see it."""
        if owner == "this":
            return self._methods.get(name)
        found = scope.constants.get(name) if not owner else None
        return found if found is not None and found.type in FUNCTIONS else None

    def _called(self, name: str, helper: Tree, given: list[Tree], scope: _Scope) -> list[Node]:
        if name not in self.used:
            if name in self._reading:
                return [nodes.function_call(name)]
            self._reading.add(name)
            place = next((at for at, one in enumerate(given) if text(one) == scope.step_name), 99)
            inner = self.function(helper, place, scope)
            self._reading.discard(name)
            if not inner:
                return []
            self.used[name] = nodes.function_def(name, inner)
        return [nodes.function_call(name)]


def _right(assignment: Tree) -> str:
    value = assignment.child_by_field_name("right")
    return text(unwrapped(value)) if value is not None else ""


def _called_at_once(call: Tree) -> list[Tree]:
    """The function of `(async () => { ... })()`."""
    function = call.child_by_field_name("function")
    return [unwrapped(function)] if function is not None else []


def _parameters(function: Tree) -> list[str]:
    """The names of a function's parameters; of one that is taken apart, its pattern."""
    single = function.child_by_field_name("parameter")
    if single is not None:
        return [text(single)]
    listed = function.child_by_field_name("parameters")
    names = []
    for parameter in listed.named_children if listed is not None else ():
        pattern = parameter.child_by_field_name("pattern") or parameter
        names.append(text(pattern))
    return names
