import asyncio

from stemma_client import AsyncStemma


def test_one_client_serves_several_event_loops() -> None:
    stemma = AsyncStemma()

    async def ask() -> int:
        return (await stemma.limits()).max_limit

    assert asyncio.run(ask()) == asyncio.run(ask())
    asyncio.run(stemma.close())
