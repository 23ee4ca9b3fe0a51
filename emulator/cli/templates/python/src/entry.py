from urllib.parse import urlsplit

from workers import Response, WorkerEntrypoint, WorkflowEntrypoint


class OrderWorkflow(WorkflowEntrypoint):
    async def run(self, event, step):
        order = event["payload"]

        # The result of a step is stored. The step does not run again after a sleep, a crash or a restart.
        @step.do("charge", config={"retries": {"limit": 3, "delay": "1 second", "backoff": "exponential"}})
        async def charge():
            print("charging", order["cents"])
            return {"paid": order["cents"]}

        payment = await charge()
        approval = await step.wait_for_event("approval", "approval", timeout="2 days")
        if not approval["payload"]["approved"]:
            return {"state": "cancelled"}

        await step.sleep("time to cancel", "1 hour")

        @step.do("ship")
        async def ship():
            return f"parcel-{event['instanceId']}"

        return {"state": "shipped", "paid": payment["paid"], "parcel": await ship()}


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        match (request.method, urlsplit(request.url).path.strip("/").split("/")):
            case ("POST", ["orders"]):
                order = await request.json()
                instance = await self.env.ORDERS.create(id=order["id"], params=order)
                return Response.json({"id": instance.id}, status=201)
            case ("POST", ["orders", order_id, "approval"]):
                instance = await self.env.ORDERS.get(order_id)
                await instance.send_event(type="approval", payload=await request.json())
                return Response.json({"sent": True})
            case ("GET", ["orders", order_id]):
                instance = await self.env.ORDERS.get(order_id)
                return Response.json(await instance.status())
        return Response("Not found", status=404)
