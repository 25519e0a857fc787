import { describe, expect, it } from "vitest";
import { said, serveRest } from "./rest-helpers.js";

const PATH = "/v1/sessions/trip";
const idsOf = (page: { readonly data: readonly { readonly id: string }[] }) => page.data.map(({ id }) => id);

async function withTree() {
  const server = await serveRest();
  const messages = ["q1", "a1", "q2", "a2"].map((id) =>
    said(id, `Text of ${id}`, id.startsWith("a") ? "assistant" : "user"),
  );
  await server.ask("POST", `${PATH}/messages`, { json: { messages } });
  await server.ask("POST", `${PATH}/messages/q2/siblings`, { json: { message: said("q2b") } });
  return server;
}

describe("REST: trees", () => {
  it("reads places, and goes from branch to branch", async () => {
    const { ask, send } = await withTree();
    expect(idsOf((await ask("GET", `${PATH}/messages/q2/siblings`)).body)).toEqual(["q2", "q2b"]);
    expect(idsOf((await ask("GET", `${PATH}/messages/a1/children`)).body)).toEqual(["q2", "q2b"]);
    expect((await ask("GET", `${PATH}/messages/q2b/parent`)).body).toMatchObject({ parent: { id: "a1" } });
    expect((await ask("GET", `${PATH}/messages/q1/parent`)).body).toEqual({ parent: null });
    expect((await ask("GET", `${PATH}/leaf`)).body).toEqual({ messageId: "q2b" });
    expect((await ask("POST", `${PATH}/select`, { json: { messageId: "q2" } })).body).toEqual({ messageId: "a2" });
    const moved = await ask("PUT", `${PATH}/leaf`, { json: { messageId: "q1", expectedLeaf: "q2b" } });
    expect([moved.status, moved.body.code]).toEqual([409, "LEAF_MOVED"]);
    await ask("PUT", `${PATH}/leaf`, { json: { messageId: "q1", expectedLeaf: "a2" } });
    expect(idsOf((await ask("GET", `${PATH}/messages`)).body)).toEqual(["q1"]);
    expect((await ask("PUT", `${PATH}/leaf`, { json: { messageId: null } })).status).toBe(200);
    expect((await ask("GET", `${PATH}/leaf`)).body).toEqual({ messageId: null });
    const first = await ask("GET", `${PATH}/tree?limit=3`);
    expect(first.body.data[0]).toMatchObject({ id: "q2b", parentId: "a1", role: "user", preview: "q2b" });
    const second = await ask("GET", `${PATH}/tree?limit=3&cursor=${first.body.nextCursor}`);
    expect([...idsOf(first.body), ...idsOf(second.body)]).toEqual(["q2b", "a2", "q2", "a1", "q1"]);
    const all = await send("GET", `${PATH}/tree`, { headers: { accept: "application/x-ndjson" } });
    expect((await all.text()).trimEnd().split("\n")).toHaveLength(5);
  });

  it("rewinds blocks with the messages, and tells what came of a message", async () => {
    const { ask } = await withTree();
    const block = "/v1/memory/session%3Atrip/blocks/plan";
    await ask("PUT", block, { json: { content: "new" } });
    expect((await ask("GET", `${PATH}/messages/q1/writes`)).body).toEqual({ data: [], nextCursor: null });
    expect((await ask("GET", `${PATH}/messages/none/writes`)).body.code).toBe("MESSAGE_NOT_FOUND");
    expect((await ask("POST", `${PATH}/rewind`, { json: { messageId: "a1" } })).status).toBe(204);
    expect((await ask("GET", `${PATH}/leaf`)).body).toEqual({ messageId: "a1" });
    expect((await ask("GET", block)).body.content).toBe("");
  });

  it("lays summaries over messages, and takes them away", async () => {
    const { ask } = await withTree();
    const json = { summary: "They spoke.", fromMessageId: "q1", toMessageId: "a1" };
    const made = await ask("POST", `${PATH}/compactions`, { json });
    expect([made.status, made.body]).toMatchObject([201, { summary: "They spoke." }]);
    expect((await ask("GET", `${PATH}/compactions`)).body.data).toEqual([made.body]);
    expect((await ask("GET", `${PATH}/messages`)).body.data).toHaveLength(2);
    expect(idsOf((await ask("GET", `${PATH}/messages?view=stored`)).body)).toEqual(["q1", "a1", "q2b"]);
    expect(idsOf((await ask("GET", `${PATH}/compactions/${made.body.id}/originals`)).body)).toEqual(["q1", "a1"]);
    expect((await ask("DELETE", `${PATH}/compactions/${made.body.id}`)).status).toBe(204);
    expect((await ask("DELETE", `${PATH}/compactions/${made.body.id}`)).body.code).toBe("COMPACTION_NOT_FOUND");
    const reversed = await ask("POST", `${PATH}/compactions`, {
      json: { ...json, fromMessageId: "a1", toMessageId: "q1" },
    });
    expect([reversed.status, reversed.body.code]).toEqual([422, "COMPACTION_INVALID_RANGE"]);
    expect((await ask("POST", `${PATH}/compact`)).body).toMatchObject({
      status: 409,
      code: "COMPACTION_NOT_CONFIGURED",
    });
    const { ask: askOther } = await serveRest({ sessions: (sessions) => sessions.onCompaction(async () => null) });
    await askOther("POST", `${PATH}/messages`, { json: { messages: [said("q1")] } });
    expect((await askOther("POST", `${PATH}/compact`)).body).toEqual({ compaction: null });
  });

  it("counts usage", async () => {
    const { ask } = await withTree();
    const json = { inputTokens: 10, outputTokens: 5, cost: 0.25, model: "m" };
    expect((await ask("POST", `${PATH}/usage`, { json })).status).toBe(204);
    expect((await ask("GET", `${PATH}/usage`)).body.data).toMatchObject([
      { model: "m", requests: 1, inputTokens: 10, cost: 0.25 },
    ]);
    expect((await ask("GET", "/v1/usage?by=session")).body.data).toMatchObject([{ name: "trip", outputTokens: 5 }]);
    expect((await ask("GET", "/v1/usage")).body.code).toBe("INVALID_ARGUMENT");
    expect((await ask("GET", "/v1/sessions/none/usage")).status).toBe(404);
  });

  it("exports a session, and makes an equal one of the file", async () => {
    const { ask, send } = await withTree();
    const file = await send("GET", `${PATH}/export`);
    expect(file.headers.get("content-type")).toBe("application/x-ndjson; charset=utf-8");
    const body = await file.text();
    const headers = { "content-type": "application/x-ndjson" };
    const { ask: askOther, keyOf } = await serveRest();
    const key = await keyOf({ userId: "ada" });
    const imported = await askOther("POST", "/v1/sessions/copy/import", { key, body, headers });
    expect(imported.body).toEqual({ inserted: 5, skipped: 0 });
    expect((await askOther("POST", "/v1/sessions/copy/import", { key, body, headers })).body.inserted).toBe(0);
    const [one, other] = [
      await ask("GET", `${PATH}/messages`),
      await askOther("GET", "/v1/sessions/copy/messages", { key }),
    ];
    expect(other.body.data).toEqual(one.body.data);
    expect((await askOther("GET", "/v1/sessions/copy", { key })).body.userId).toBe("ada");
    expect(await (await send("GET", `${PATH}/export?format=markdown`)).text()).toContain("Text of q1");
    expect((await ask("GET", `${PATH}/export?format=exe`)).status).toBe(400);
    expect((await ask("GET", "/v1/sessions/none/export")).body.code).toBe("SESSION_NOT_FOUND");
    const refused = [
      [`${body}${body.replaceAll("trip", "tour")}`, headers, 400],
      ["nonsense", headers, 400],
      [new Uint8Array([0xff, 0xfe, 0xfd]), headers, 400],
      [body, { "content-type": "text/html" }, 415],
      [body, { ...headers, "content-encoding": "gzip" }, 415],
    ] as const;
    for (const [sent, given, status] of refused) {
      const answer = await askOther("POST", "/v1/sessions/second/import", { body: sent as BodyInit, headers: given });
      expect([answer.body.detail, answer.status]).toEqual([expect.any(String), status]);
    }
    const { ask: askSmall } = await serveRest({ maxBodyBytes: 100 });
    expect((await askSmall("POST", "/v1/sessions/copy/import", { body, headers })).body.code).toBe("REQUEST_TOO_LARGE");
    expect((await askSmall("GET", "/v1/limits")).body).toEqual({
      maxBodyBytes: 100,
      maxMessages: 1000,
      maxOperations: 1000,
      defaultLimit: 50,
      maxLimit: 200,
    });
  });
});
