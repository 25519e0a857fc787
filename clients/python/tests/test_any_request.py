"""Requests that schemathesis makes of the server's document: right ones and wrong ones. None of them is a fault of the server."""

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings

from stemma_client import Stemma
from stemma_client.models import Problem

from .conftest import ADMIN_KEY, ROOT, serving

EXAMPLES = int(os.environ.get("SCHEMATHESIS_EXAMPLES", "2"))


def plain(schema: Any) -> Any:
    """The document with a choice in the place of a list of types, at which version 4.32.5 stops."""
    if isinstance(schema, list):
        return [plain(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    types, rest = schema.get("type"), {name: plain(each) for name, each in schema.items() if name != "type"}
    if not isinstance(types, list):
        return {**rest, "type": plain(types)} if "type" in schema else rest
    return {"anyOf": [{"type": "null"} if each == "null" else {**rest, "type": each} for each in types]}


DOCUMENT = json.loads((ROOT / "packages/server/openapi.json").read_text())
# A stream of changes has no end.
schema = schemathesis.openapi.from_dict(plain(DOCUMENT)).exclude(path_regex="/changes$")


@schemathesis.serializer("application/x-ndjson")
def lines(_context: schemathesis.SerializationContext, value: Any) -> bytes:
    return json.dumps(value).encode()


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, list[str]]]:
    """A server with something that is all called 0, and the keys of an administrator and a user."""
    with serving(tmp_path_factory.mktemp("attacked") / "memory.db") as url:
        with Stemma(base_url=url, api_key=ADMIN_KEY) as stemma:
            stemma.create_session("0", id="0", user_id="0")
            stemma.session("0").append({"id": "0", "role": "user", "parts": [{"type": "text", "text": "0"}]})
            stemma.memory("user:0").set_block("0", "0")
            stemma.memory("user:0").set_entry("0", "0", "0")
            yield url, [ADMIN_KEY, stemma.create_token("0", ttl=3_600).token]


@schema.parametrize()
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    derandomize="SCHEMATHESIS_EXAMPLES" not in os.environ,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_no_request_is_a_fault_of_the_server(case: "schemathesis.Case[Any]", attacked: tuple[str, list[str]]) -> None:
    url, keys = attacked
    for key in keys:
        answer = case.call(base_url=url, headers={"authorization": f"Bearer {key}"}, timeout=60)
        assert answer.status_code < 500, answer.text
        if answer.status_code >= 400:
            assert answer.headers["content-type"] == ["application/problem+json; charset=utf-8"], answer.text
            assert Problem.model_validate_json(answer.content).status == answer.status_code
