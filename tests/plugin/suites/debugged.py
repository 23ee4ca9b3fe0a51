"""A test that stops at a breakpoint in a step; `test_reports.py` types into it."""

from workers import WorkflowEntrypoint


class Order(WorkflowEntrypoint):
    async def run(self, event, step):
        @step.do("charge", config={"timeout": "1 second"})
        async def charge():
            cents = event.payload["cents"]
            breakpoint()
            return cents

        return await charge()


async def test_it_stops_in_the_step(workflows):
    workflows.define(Order)
    instance = await workflows.ORDER.create(params={"cents": 17})
    assert await instance.result() == 17
