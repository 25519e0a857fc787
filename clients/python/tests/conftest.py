import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
ADMIN_KEY = "stemma-admin-key-for-tests"


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a `stemma serve` that runs as long as the tests."""
    with serving(tmp_path_factory.mktemp("stemma") / "memory.db") as url:
        yield url


@contextmanager
def serving(database: Path) -> Iterator[str]:
    options = ["--db", str(database), "--port", "0", "--rate-limit", "1000000", "--drain-delay", "0", "--json"]
    log = database.with_suffix(".log")
    command = ["node", str(ROOT / "packages/stemma/dist/cli/main.js"), "serve", *options]
    # A file: a pipe that nobody reads is full at some time.
    with log.open("w") as output:
        process = subprocess.Popen(
            command, env={**os.environ, "STEMMA_ADMIN_KEY": ADMIN_KEY}, stdout=output, stderr=output
        )
    try:
        yield listening_at(log, process)
    finally:
        process.terminate()
        process.wait()


def listening_at(log: Path, process: "subprocess.Popen[bytes]") -> str:
    while process.poll() is None:
        for line in log.read_text().splitlines():
            if '"listening"' in line:
                return str(json.loads(line)["url"])
        time.sleep(0.05)
    raise RuntimeError("stemma serve did not listen:\n" + log.read_text())


@pytest.fixture(autouse=True)
def environment(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEMMA_BASE_URL", server)
    monkeypatch.setenv("STEMMA_API_KEY", ADMIN_KEY)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
