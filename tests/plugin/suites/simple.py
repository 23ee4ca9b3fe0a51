"""Tests that pass: for runs in parallel, with coverage, and of a project found by itself."""

import pytest


@pytest.mark.parametrize("number", range(12))
async def test_orders_with_the_same_id(workflows, auto_advance, number):
    instance = await workflows.FLOW.create({"id": "same", "params": {"n": number}})
    assert await instance.result() == number


def test_the_worker_says_what_it_does(workflows, auto_advance, capsys):
    workflows.FLOW.create({"id": "same", "params": {"n": 1}}).result()
    assert capsys.readouterr().out == "[same] running 1\n"


@pytest.mark.anyio
async def test_fixtures_of_anyio_prepare_instances(waiting, anyio_backend):
    await waiting.wait_for_status("complete")


@pytest.fixture
async def waiting(workflows, auto_advance, anyio_backend):
    return await workflows.FLOW.create(params={"n": 1})


@pytest.fixture
def anyio_backend():
    return "asyncio"
