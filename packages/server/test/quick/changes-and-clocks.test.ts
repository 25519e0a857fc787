import { describe, expect, it, vi } from "vitest";
import { type Access, ApiKeys, authenticator, UserTokens } from "../../src/index.js";
import { HOST, newStore, said, serveRest } from "./rest-helpers.js";

const append = (id: string) => ({ json: { messages: [said(id, "A secret of the chat.")] } });

// The clock of the process is replaced, by which no far store would answer.
describe("changes, by a clock", () => {
  it("tells of what is written after the clock went back", async () => {
    const { ask, send } = await serveRest();
    await ask("POST", "/v1/sessions/old/messages", append("q1"));
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] });
    try {
      let text = "";
      const write = (piece: Uint8Array) => {
        text += new TextDecoder().decode(piece);
      };
      void (await send("GET", "/v1/changes")).body?.pipeTo(new WritableStream({ write }));
      for (const [id, forth] of [
        ["before", 0],
        ["after", -60_000],
        ["later", 0],
      ] as const) {
        vi.setSystemTime(Date.now() + forth);
        await ask("POST", `/v1/sessions/${id}/messages`, append("q1"));
        await vi.advanceTimersByTimeAsync(3_000);
      }
      expect([...text.matchAll(/"session":"(\w+)"/g)].map(([, id]) => id)).toEqual(["before", "after", "later"]);
    } finally {
      vi.useRealTimers();
    }
  });

  it("ends soon after its key was revoked, its token has expired, or it has become another one's", async () => {
    const store = await newStore();
    let role: Access["access"] = "memory";
    const [keys, tokens] = [new ApiKeys(store), new UserTokens(store, { audience: HOST })];
    const letIn = authenticator({ keys, tokens });
    const authenticate = async (request: Request) => ({ ...(await letIn(request)), access: role });
    const { send, ask } = await serveRest({ authenticate }, store);
    const { key, info } = await keys.create({ name: "soon revoked", access: "memory" });
    const { token } = await tokens.create({ userId: "ada", lasts: 5_000 });
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] });
    try {
      const open = async (bearer?: string) => {
        const { body } = await send("GET", "/v1/changes", bearer === undefined ? {} : { key: bearer });
        let isOver = false;
        void new Response(body).text().then(() => {
          isOver = true;
        });
        return () => isOver;
      };
      const [revoked, expired, changed] = [await open(key), await open(token), await open()];
      await keys.revoke(info.id);
      await vi.advanceTimersByTimeAsync(12_000);
      await vi.waitFor(() => expect([revoked(), expired(), changed()]).toEqual([true, true, false]));
      role = "admin";
      await vi.advanceTimersByTimeAsync(12_000);
      await vi.waitFor(() => expect(changed()).toBe(true));
      expect((await ask("GET", "/v1/changes?wait=1", { key })).body.code).toBe("NOT_ALLOWED");
    } finally {
      vi.useRealTimers();
    }
  });
});
