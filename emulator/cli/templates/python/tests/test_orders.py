async def test_an_approved_order_ships_after_an_hour(workflows, clock):
    order = await workflows.ORDERS.create(id="o-1", params={"cents": 4500})
    await order.send_event(type="approval", payload={"approved": True})
    await clock.advance("1 hour")

    assert await order.result() == {"state": "shipped", "paid": 4500, "parcel": "parcel-o-1"}


async def test_an_order_without_approval_fails_after_two_days(workflows, clock):
    order = await workflows.ORDERS.create(params={"cents": 4500})
    await clock.advance("2 days")

    await order.wait_for_status("errored")


async def test_a_failed_charge_is_retried(workflows, clock):
    prepared = workflows.ORDERS.prepare(params={"cents": 4500})
    prepared.mock_step_error("charge", ValueError("card declined"), times=2)
    order = await prepared.start()
    await clock.advance("10 seconds")

    assert order.steps["charge"].attempts == 3
