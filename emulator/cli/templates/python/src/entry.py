from urllib.parse import parse_qs, urlsplit

from workers import Response, WorkerEntrypoint, WorkflowEntrypoint


class GreetingWorkflow(WorkflowEntrypoint):
    async def run(self, event, step):
        name = event["payload"].get("name", "world")

        # What a step returns is stored: it does not run again when the instance goes on after a sleep or a crash.
        @step.do("write")
        async def write():
            return f"Hello, {name}!"

        text = await write()

        await step.sleep("wait for the right moment", "10 seconds")

        # A step that raises is tried again: here three times, after 1, 2 and 4 seconds.
        @step.do("send", config={"retries": {"limit": 3, "delay": "1 second", "backoff": "exponential"}})
        async def send():
            print("sending:", text)
            return {"sent": text}

        return await send()


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        if request.method == "POST":
            instance = await self.env.GREETING.create(params=await request.json())
            return Response.json({"id": instance.id})

        query = parse_qs(urlsplit(request.url).query)
        if "id" not in query:
            return Response('POST {"name": "..."} starts a greeting, GET /?id=... shows it.')

        instance = await self.env.GREETING.get(query["id"][0])
        return Response.json(await instance.status())
