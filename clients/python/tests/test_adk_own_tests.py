"""ADK's own tests of session services, which its package does not have: `ADK_SESSION_TESTS` names its tests/unittests/sessions/test_session_service.py."""

import importlib.util
import inspect
import os
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from stemma_client import AsyncStemma
from stemma_client.adk import StemmaSessionService

from .conftest import serving

pytestmark = pytest.mark.anyio

PATH = os.environ.get("ADK_SESSION_TESTS")


def loaded(path: str | None) -> ModuleType | None:
    spec = None if path is None else importlib.util.spec_from_file_location("adk_session_tests", path)
    if spec is None or spec.loader is None:
        return None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MODULE = loaded(PATH)
# Those of all services, not of one.
NAMES = [
    name
    for name, test in vars(MODULE).items()
    if name.startswith("test_") and "session_service" in inspect.signature(test).parameters
] if MODULE else []  # fmt: skip


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[str]:
    """A server for each test: all tests have the same users."""
    with serving(tmp_path / "adk.db") as url:
        yield url


@pytest.mark.skipif(MODULE is None, reason="ADK_SESSION_TESTS names no tests of ADK")
@pytest.mark.parametrize("name", NAMES)
async def test_a_test_of_adk(name: str, own_server: str) -> None:
    test = getattr(MODULE, name)
    given = {parameter: None for parameter in inspect.signature(test).parameters}
    async with AsyncStemma(base_url=own_server) as stemma:
        await test(**{**given, "session_service": StemmaSessionService(stemma)})
