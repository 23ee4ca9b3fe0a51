"""Graphs of JavaScript and TypeScript Workflows, read from their syntax trees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from stepwell.emulator.analysis.javascript import javascript_graph

Read = Callable[..., Any]


def test_steps_sleeps_and_waits(javascript: Read) -> None:
    body = """
    const a: Result = await step.do("a", async () => ({ n: 1 }));
    await step.do(`charge ${event.payload.id}`, { retries: { limit: 3, delay: "1 second" } }, async () => {});
    await step.sleep('nap', "1 day");
    await step.sleepUntil("then", new Date(5));
    const e = await step.waitForEvent<Approval>("approval", { type: "approve", timeout: "2 hours" });
    await step.waitForEvent("other", { type: "go" });
    return a;
    """

    assert javascript(body) == [
        "do a",
        "do charge {event.payload.id}",
        "sleep nap 1 day",
        "until then new Date(5)",
        "wait approval approve 2 hours",
        "wait other go 24 hours",
    ]


def test_a_config_is_read_through_names_and_casts() -> None:
    graph = javascript_graph(
        """
const LIMIT = 0x3;
export class Flow extends WorkflowEntrypoint {
  async run(event, step) {
    const backoff = "linear" as const;
    const config = { retries: { limit: LIMIT, delay: 1_000, backoff }, timeout: "5 min" + "utes" };
    await step.do("a", config satisfies WorkflowStepConfig, async () => {});
    await step.do("b", { retries: { limit: 1, delay: ({ ctx }) => ctx.attempt * 10 } }, async () => {});
  }
}
""",
        "Flow",
    )

    assert graph is not None
    first, second = graph["workflow"]["nodes"]
    assert first["config"] == {
        "retries": {"limit": 3, "delay": 1000, "backoff": "linear"},
        "timeout": '"5 min" + "utes"',
    }
    assert second["config"]["retries"]["delay"] == "({ ctx }) => ctx.attempt * 10"


def test_escapes_in_names(javascript: Read) -> None:
    assert javascript(
        r'await step.do("a\"\u0041\u{1F600}\x42\n\
b", f)'
    ) == ['do a"A\N{GRINNING FACE}B\nb']


# -- control
def test_branches_keep_their_conditions(javascript: Read) -> None:
    body = """
    if (x > 1) { await step.do("a", f); } else if (y) return; else { await step.do("b", f); }
    """

    assert javascript(body) == [("if", ("x > 1", "do a"), ("y", "return"), (None, "do b"))]


@pytest.mark.parametrize(
    "loop",
    [
        "for (const x of xs) { BODY }",
        "for (const k in o) { BODY }",
        "for (let i = 0; i < 3; i++) { BODY }",
        "for await (const x of xs) { BODY }",
        "while (true) { BODY }",
        "do { BODY } while (x);",
        "xs.forEach(async (x) => { BODY });",
        "outer: for (const x of xs) { BODY }",
    ],
)
def test_loops(javascript: Read, loop: str) -> None:
    assert javascript(loop.replace("BODY", 'await step.do("a", f);')) == [("loop", "do a")]


def test_a_loop_can_be_left(javascript: Read) -> None:
    assert javascript('while (x) { await step.do("a", f); if (y) break; }') == [
        ("loop", "do a", ("if", ("y", "break")))
    ]


def test_try_has_three_parts(javascript: Read) -> None:
    body = 'try { await step.do("a", f) } catch { await step.do("b", f) } finally { await step.do("c", f) }'

    assert javascript(body) == [("try", ["do a"], ["do b"], ["do c"])]


def test_switch(javascript: Read) -> None:
    body = 'switch (kind) { case "x": await step.do("a", f); break; default: await step.do("b", f); }'

    assert javascript(body) == [("switch kind", ('"x"', "do a"), (None, "do b"))]


def test_a_conditional_expression_is_a_branch(javascript: Read) -> None:
    assert javascript('const r = y ? await step.do("a", f) : null;') == [("if", ("y", "do a"), (None,))]


# -- at once
@pytest.mark.parametrize(
    ("method", "kind"), [("all", "all"), ("allSettled", "all_settled"), ("any", "any"), ("race", "race")]
)
def test_promises_at_once(javascript: Read, method: str, kind: str) -> None:
    body = f'await Promise.{method}([step.do("a", f), step.sleep("s", 1)]);'

    assert javascript(body) == [(kind, "do a", "sleep s 1")]


def test_promises_of_many_are_a_loop_at_once(javascript: Read) -> None:
    body = "const r = await Promise.all(items.map((item) => step.do(`a ${item}`, async () => item)));"

    assert javascript(body) == [("all", ("loop", "do a {item}"))]


def test_a_promise_that_is_awaited_later_has_both_moments() -> None:
    source = """
export class Flow {
  async run(event, step) {
    const a = step.do("a", f);
    const b = step.do("b", f);
    await step.sleep("nap", 1);
    await Promise.all([a, b]);
  }
}
"""
    graph = javascript_graph(source, "Flow")

    assert graph is not None
    a, b, _ = graph["workflow"]["nodes"]
    assert (a["starts"], b["starts"]) == (1, 2)
    assert sorted((a["resolves"], b["resolves"])) == [3, 4]


# -- helpers
def test_methods_and_functions_that_are_handed_the_step(javascript: Read) -> None:
    body = "await this.charge(step); await notify(step, 1); await local();"
    helpers = 'async function notify(s, who) { await s.do("notify", f) }\nconst plain = () => 1;'
    members = 'async charge(step) { await step.do("charge", f) }'
    body = 'const local = async () => { await step.do("local", f) };' + body + " plain();"

    assert javascript(body, helpers, members) == ["charge()", "notify()", "local()"]
    assert javascript(body, helpers, members, functions=True) == {
        "charge": ["do charge"],
        "notify": ["do notify"],
        "local": ["do local"],
    }


def test_a_function_that_calls_itself_ends(javascript: Read) -> None:
    members = 'async again(step) { await step.sleep("nap", 1); await this.again(step) }'

    assert javascript("await this.again(step)", "", members, functions=True) == {
        "again": ["sleep nap 1", "again()"]
    }


def test_a_step_inside_of_a_step_is_its_child(javascript: Read) -> None:
    body = 'await step.do("outer", async () => { return await step.do("inner", async () => 1); });'

    assert javascript(body) == [("do outer", "do inner")]


def test_the_step_may_have_another_name() -> None:
    source = 'export class Flow { async run({ payload }, s) { await s.do("a", f) } }'

    graph = javascript_graph(source, "Flow")

    assert graph is not None
    assert graph["workflow"]["nodes"][0]["name"] == "a"


# -- finding the class
@pytest.mark.parametrize(
    "source",
    [
        "export default class Flow extends W { async run(e, step) { RUN } }",
        "class Inner extends W { async run(e, step) { RUN } }\nexport { Inner as Flow };",
        "var Flow = class extends W { async run(e, step) { RUN } };",
        "var Flow = class _Flow extends W { run = async (e, step) => { RUN } };",
        "abstract class Flow<T> extends W<Env, T> { async run(e: E<T>, step: S) { RUN } }",
    ],
)
def test_the_class_is_found_as_people_and_bundlers_write_it(source: str) -> None:
    graph = javascript_graph(source.replace("RUN", 'await step.do("a", f);'), "Flow")

    assert graph is not None
    assert [node["name"] for node in graph["workflow"]["nodes"]] == ["a"]


@pytest.mark.parametrize(
    "source", ["", "}}}} class", "export class Other { run() {} }", "export class Flow { go() {} }"]
)
def test_a_source_without_the_class_has_no_graph(source: str) -> None:
    assert javascript_graph(source, "Flow") is None


def test_a_source_with_a_mistake_is_read_as_far_as_it_goes() -> None:
    source = 'export class Flow { async run(e, step) { await step.do("a", f); const = ; await step.do("b", f); } }'

    graph = javascript_graph(source, "Flow")

    assert graph is not None
    assert [node["name"] for node in graph["workflow"]["nodes"]] == ["a", "b"]


def test_a_step_that_is_kept_under_another_name_is_the_step(javascript: Read) -> None:
    body = """
    this.step = step;
    const again = step;
    await again.do("first", f);
    await step["do"]("second", f);
    await this.rest();
    """
    members = 'async rest() { await this.step.sleep("nap", "1 day"); }'

    assert javascript(body, members=members) == ["do first", "do second", "rest()"]
    assert javascript(body, members=members, functions=True) == {"rest": ["sleep nap 1 day"]}


def test_functions_that_run_where_they_are_written_count(javascript: Read) -> None:
    body = """
    await (async () => { await step.do("at once", f); return 1; })();
    await step.do("a", f).then(() => step.do("b", f)).catch((error) => step.do("c", f));
    """

    assert javascript(body) == ["do at once", "do a", "do b", "do c"]
