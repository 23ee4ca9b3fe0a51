"""A plain project under `vite dev` and `wrangler dev`: Stepwell runs its Workflows, the tool everything else."""

from __future__ import annotations

from tests.e2e.devservers.conftest import DevServer, needs_node

pytestmark = needs_node


def test_a_workflow_that_the_app_creates_runs_in_the_engine(shop: DevServer) -> None:
    shop.create("runs")

    assert shop.finished("runs")["output"] == {"first": "first", "last": "first"}


def test_user_code_sees_the_bindings_of_its_configuration(shop: DevServer) -> None:
    assert shop.get("/")["names"] == ["ORDERS"]


def test_the_app_answers_on_the_port_of_the_engine_too(shop: DevServer) -> None:
    shop.get("/")

    assert shop.stepwell.get("/")["names"] == ["ORDERS"]


def test_console_lines_are_printed_by_the_tool_and_unchanged(shop: DevServer) -> None:
    shop.create("prints")
    shop.finished("prints")

    lines = [line for line in shop.output.splitlines() if "in the first step" in line]
    assert lines
    assert all(not line.startswith("[") for line in lines)


def test_the_stack_of_a_failed_step_names_the_users_file_and_line(shop: DevServer) -> None:
    shop.create("fails", fails=1)
    shop.finished("fails")

    shop.stepwell.until_output(r"charge-1 attempt 1 failed: TypeError: no money")
    stack = shop.output.partition("attempt 1 failed: TypeError: no money")[2].partition("orders/fails errored")[0]
    assert "src/steps.ts:7:" in stack
    assert "steps.mjs" not in stack


def test_an_error_of_a_binding_has_the_stack_of_its_caller(shop: DevServer) -> None:
    stack = shop.get("/missing")["stack"]

    assert stack.splitlines()[0] == "Error: instance.not_found"
    assert "stepwell" not in stack


def test_lines_of_stepwell_begin_with_its_name(shop: DevServer) -> None:
    shop.create("named")
    shop.finished("named")

    assert all(line.startswith("[stepwell] ") for line in shop.output.splitlines() if "orders/named" in line)
