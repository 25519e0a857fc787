from collections.abc import AsyncGenerator
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.conformance import checkpointer_test, validate

from stemma_client import AsyncStemma
from stemma_client.langgraph import AsyncStemmaSaver

pytestmark = pytest.mark.anyio


@checkpointer_test(name="Stemma")
async def stemma_saver() -> AsyncGenerator[BaseCheckpointSaver[Any], None]:
    async with AsyncStemma() as stemma:
        yield AsyncStemmaSaver(stemma)


async def test_the_saver_conforms() -> None:
    report = await validate(stemma_saver)
    failures = {name: result.failures for name, result in report.results.items() if result.failures}
    assert failures == {}
    assert report.passed_all()
    assert sum(result.tests_passed for result in report.results.values()) >= 50
