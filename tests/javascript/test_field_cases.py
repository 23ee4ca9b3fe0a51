"""What users have asked about, on the JavaScript host; the number is that of the case."""

from __future__ import annotations

import pytest

from stepwell.bindings.values import encode
from tests.javascript.conftest import Site, StartSite, needs_runtime

pytestmark = [needs_runtime, pytest.mark.anyio]


async def _waits_for(site: Site, instance_id: str, step: str) -> None:
    """Until the instance rests at a step."""
    await site.until(lambda: step in _unfinished(site, instance_id) and _status(site, instance_id) == "waiting")


def _unfinished(site: Site, instance_id: str) -> list[str]:
    steps = site.engine.store.steps(site.key("ts-probes", instance_id))
    return [step.name for step in steps if step.ended_at is None]


def _status(site: Site, instance_id: str) -> str:
    row = site.engine.store.instance(site.key("ts-probes", instance_id))
    assert row is not None
    return row.status


async def test_a_waiter_whose_time_is_over_takes_no_event_fr01(start_site: StartSite) -> None:
    site = await start_site("ts-plain")
    await site.post("/probe?id=w", {"kind": "twoWaits"})
    await _waits_for(site, "w", "w1")
    await site.engine.advance(1_500)

    await site.engine.workflow("ts-probes").send_event("w", {"type": "go", "payload": encode({"n": 2})})

    output = (await site.finished("/probed", "w"))["output"]
    assert "Execution timed out after 1000ms" in output["first"]
    assert output["second"]["payload"] == {"n": 2}


async def test_a_non_retryable_error_without_a_message_ends_the_step_fr03(plain: Site) -> None:
    output = (await plain.probe("fr03", "emptyNonRetryable"))["output"]

    assert (output["n"], output["name"]) == (1, "Error")
    assert output["message"].startswith("NonRetryableError")


async def test_a_delay_of_nothing_retries_at_once_fr05(plain: Site) -> None:
    assert (await plain.probe("fr05", "noDelay"))["output"] == {"n": 2, "attempt": 2, "delay": 0}


async def test_a_replay_keeps_the_first_time_of_a_sleep_moved_by_a_pause_fr07(start_site: StartSite) -> None:
    site = await start_site("ts-plain", replay_always=True)
    await site.post("/probe?id=s", {"kind": "movingSleep"})
    await _waits_for(site, "s", "u")
    began = site.engine.store.steps(site.key("ts-probes", "s"))[1]
    await site.engine.advance(1_000)
    await site.engine.workflow("ts-probes").pause("s")
    await site.engine.advance(1_000)
    await site.engine.workflow("ts-probes").resume("s")
    await site.engine.advance(10_000)

    await site.finished("/probed", "s")

    sleep = site.engine.store.steps(site.key("ts-probes", "s"))[1]
    assert sleep.started_at == began.started_at
    assert 5_900 <= (sleep.ended_at or 0) - sleep.started_at <= 6_900


async def test_a_caught_failure_fails_the_step_only_fr09(plain: Site) -> None:
    output = (await plain.probe("fr09", "caught"))["output"]

    assert output == {"caught": "no", "after": "cleaned in attempt 1"}


async def test_a_new_pass_runs_the_code_again_but_no_finished_step_fr11(start_site: StartSite) -> None:
    site = await start_site("ts-plain", replay_always=True)
    await site.post("/probe?id=e", {"kind": "evicted"})
    await _waits_for(site, "e", "z")
    await site.engine.advance(5_000)

    assert (await site.finished("/probed", "e"))["output"] == {"same": True, "ranAgain": True}


async def test_steps_of_one_name_are_told_apart_by_their_count_fr13(plain: Site) -> None:
    output = (await plain.probe("fr13", "sameName"))["output"]

    assert output["a"] == {"v": 1, "k": {"name": "same", "count": 1}}
    assert output["b"] == {"v": 2, "k": {"name": "same", "count": 2}}


async def test_get_of_an_unknown_id_rejects_fr15(plain: Site) -> None:
    assert "instance.not_found" in (await plain.probe("fr15", "unknownId"))["output"]


@pytest.mark.parametrize(("delay", "attempts"), [("text", 3), ("nonsense", 1), ("throws", 1)])
async def test_a_delay_may_be_a_function_and_a_bad_one_ends_the_step_fr17(
    plain: Site, delay: str, attempts: int
) -> None:
    output = (await plain.probe(f"fr17-{delay}", "delayFunction", delay=delay))["output"]

    assert output["n"] == attempts
    assert (output["result"] == "done") == (attempts == 3)


async def test_a_nested_step_is_a_step_and_is_warned_of_fr19(plain: Site, caplog: pytest.LogCaptureFixture) -> None:
    found = await plain.probe("fr19", "nested")

    assert found["output"] == [1, 2]
    assert 'step "inner-1" is nested in another step' in caplog.text


@pytest.mark.parametrize(("length", "status"), [(1_000_000, "complete"), (1_100_000, "errored")])
async def test_a_result_over_the_limit_fails_its_step_by_name_fr85(plain: Site, length: int, status: str) -> None:
    found = await plain.probe(f"fr85-{length}", "large", length=length)

    assert found["status"] == status
    assert status == "complete" or ("big" in found["error"]["message"] and "1MiB" in found["error"]["message"])
