import { describe, expect, it } from "vitest";
import { said, serveRest } from "./rest-helpers.js";

const PATH = "/v1/sessions/trip";

describe("REST: turns", () => {
  async function withBlocks() {
    const server = await serveRest({
      sessions: (sessions) =>
        sessions
          .withContext("memory", { description: "Facts", scope: "user" })
          .withContext("rules", { approve: "user" })
          .withCachedPrompt()
          .onLearning(async () => ({
            edits: [{ label: "memory", action: "add", messageIds: ["q1"], content: "Likes tea." }],
            usage: { inputTokens: 3, outputTokens: 1, cost: 0.5 },
          })),
    });
    const key = await server.keyOf({ userId: "ada" });
    await server.ask("POST", `${PATH}/messages`, { key, json: { messages: [said("q1", "I like tea.")] } });
    return { ...server, key };
  }

  it("gives the prompt, the history and the tools as JSON Schema, and runs a tool", async () => {
    const { ask, key } = await withBlocks();
    const turn = await ask("POST", `${PATH}/turn`, { key, json: {} });
    expect(turn.body).toMatchObject({
      system: expect.stringContaining("MEMORY"),
      messages: [{ id: "q1" }],
      refreshed: "first",
      changes: [],
      tools: [{ name: "set_context", inputSchema: { type: "object", properties: { label: { type: "string" } } } }],
    });
    const same = await ask("POST", `${PATH}/turn`, { key });
    expect(same.body.prefixHash).toBe(turn.body.prefixHash);
    const input = { label: "memory", content: "Ada likes tea." };
    const run = await ask("POST", `${PATH}/tools/set_context`, { key, json: { input, toolCallId: "c1" } });
    expect(run.body.output).toContain("Replaced memory");
    expect((await ask("GET", "/v1/memory/user/blocks/memory", { key })).body.content).toBe("Ada likes tea.");
    const asked = { input: { label: "rules", content: "Be brief." } };
    const refused = await ask("POST", `${PATH}/tools/set_context`, { key, json: asked });
    expect([refused.status, refused.body.code]).toEqual([403, "TOOL_REFUSED"]);
    const agreed = await ask("POST", `${PATH}/tools/set_context`, { key, json: { ...asked, approved: true } });
    expect(agreed.body.output).toContain("Replaced rules");
    const wrong = await ask("POST", `${PATH}/tools/set_context`, { key, json: { input: { label: "none" } } });
    expect(wrong.body.output).toMatch(/^Error: /);
    for (const tool of ["nothing", "constructor", "__proto__"]) {
      expect((await ask("POST", `${PATH}/tools/${tool}`, { key, json: { input: {} } })).body.code).toBe("NOT_FOUND");
    }
  });

  it("learns once from what is new", async () => {
    const { ask, key } = await withBlocks();
    const learned = await ask("POST", `${PATH}/learn`, { key });
    expect(learned.body).toMatchObject({ messages: 1, edits: 1, usage: { cost: 0.5 }, failed: null, isMoreDue: false });
    expect((await ask("POST", `${PATH}/learn`, { key })).body).toMatchObject({ messages: 0, edits: 0 });
    expect((await ask("GET", "/v1/memory/user/blocks/memory", { key })).body.content).toBe("Likes tea.");
    const { ask: askOther } = await serveRest();
    await askOther("POST", `${PATH}/messages`, { json: { messages: [said("q1")] } });
    expect((await askOther("POST", `${PATH}/learn`)).body).toMatchObject({ status: 422, code: "STORE_UNSUPPORTED" });
  });

  it("tells of learning that failed by its code alone", async () => {
    const { ask, errors } = await serveRest({
      sessions: (sessions) => sessions.withContext("memory").onLearning(() => Promise.reject(new Error("secret"))),
    });
    await ask("POST", `${PATH}/messages`, { json: { messages: [said("q1")] } });
    const learned = await ask("POST", `${PATH}/learn`);
    expect(learned.body).toMatchObject({ failed: expect.any(String), isMoreDue: true });
    expect([JSON.stringify(learned.body).includes("secret"), errors.length]).toEqual([false, 1]);
  });

  it("tells nothing of a session that is not there", async () => {
    const { ask, keyOf } = await withBlocks();
    const key = await keyOf({ userId: "eve" });
    for (const session of [PATH, "/v1/sessions/none"]) {
      for (const [path, json] of [
        ["/turn", {}],
        ["/learn", {}],
        ["/tools/set_context", { input: {} }],
      ] as const) {
        const refused = await ask("POST", session + path, { key, json });
        expect([path, refused.status, refused.body.code]).toEqual([path, 404, "SESSION_NOT_FOUND"]);
      }
    }
  });

  it("says what to send where a block is a user's, and the session nobody's", async () => {
    const { ask, keyOf } = await serveRest({
      sessions: (sessions) => sessions.withContext("memory", { scope: "user" }).withCachedPrompt(),
    });
    await ask("POST", "/v1/sessions", { json: { id: "a", name: "A" } });
    for (const path of ["/v1/sessions/a/turn", "/v1/sessions/a/tools/set_context"]) {
      const { status, body } = await ask("POST", path, { json: path.endsWith("turn") ? {} : { input: {} } });
      expect([status, body.code]).toEqual([400, "USER_REQUIRED"]);
      expect(body.detail).toContain("make sessions with a userId");
    }
    await ask("POST", "/v1/sessions", { json: { id: "b", name: "B", userId: "ada" } });
    expect((await ask("POST", "/v1/sessions/b/turn", { json: {} })).status).toBe(200);
    const key = await keyOf({ userId: "ada" });
    expect((await ask("POST", "/v1/sessions", { key, json: { id: "c", name: "C" } })).status).toBe(201);
    expect((await ask("POST", "/v1/sessions/c/turn", { key, json: {} })).status).toBe(200);
  });
});
