import { describe, expect, it, vi } from "vitest";
import { type Access, ApiKeys, authenticator, UserTokens } from "../../src/index.js";
import { HOST, newStore, said, serveRest } from "./rest-helpers.js";

const append = (id: string) => ({ json: { messages: [said(id, "A secret of the chat.")] } });

/** Lets time pass, and what a store does between its statements. */
async function pass(milliseconds: number): Promise<void> {
  for (let passed = 0; passed < milliseconds; passed += 500) {
    await vi.advanceTimersByTimeAsync(500);
    await new Promise(setImmediate);
  }
}

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
        await pass(3_000);
      }
      expect([...text.matchAll(/"session":"(\w+)"/g)].map(([, id]) => id)).toEqual(["before", "after", "later"]);
    } finally {
      vi.useRealTimers();
    }
  });

  it("tells of what a server writes whose clock is behind", async () => {
    const { ask, send } = await serveRest();
    await ask("POST", "/v1/sessions/old/messages", append("q1"));
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "performance", "Date"] });
    try {
      const told: string[] = [];
      const write = (piece: Uint8Array) => {
        for (const [, id = ""] of new TextDecoder().decode(piece).matchAll(/"session":"(\w+)"/g)) told.push(id);
      };
      void (await send("GET", "/v1/changes")).body?.pipeTo(new WritableStream({ write }));
      for (const [id, behind] of [
        ["a", 0],
        ["b", 50_000],
        ["c", 0],
        ["old", 30_000],
      ] as const) {
        await pass(5_000);
        vi.setSystemTime(Date.now() - behind);
        await ask("POST", `/v1/sessions/${id}/messages`, append("q2"));
        vi.setSystemTime(Date.now() + behind);
      }
      await pass(15_000);
      expect(told.toSorted()).toEqual(["a", "b", "c", "old"]);
    } finally {
      vi.useRealTimers();
    }
  });

  it("tells nobody of a change again who waits behind it, and of what a clock that is behind dated before it", async () => {
    const { ask } = await serveRest();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] });
    try {
      let after = new Date().toISOString();
      const next = async () => {
        let data: { id: string; session: string }[] | undefined;
        void ask("GET", `/v1/changes?wait=2&after=${encodeURIComponent(after)}`).then(({ body }) => {
          data = body.data;
        });
        while (data === undefined) await pass(500);
        after = data.at(-1)?.id ?? after;
        return data.map(({ session }) => session);
      };
      for (const id of ["a", "b"]) await ask("POST", `/v1/sessions/${id}/messages`, append("q1"));
      expect(await next()).toEqual(["a", "b"]);
      expect(await next()).toEqual([]);
      await ask("POST", "/v1/sessions/a/messages", append("q2"));
      expect(await next()).toEqual(expect.arrayContaining(["a"]));
      expect(await next()).toEqual([]);
      await vi.advanceTimersByTimeAsync(30_000);
      await ask("POST", "/v1/sessions/b/messages", append("q2"));
      expect(await next()).toContain("b");
      vi.setSystemTime(Date.now() - 20_000);
      await ask("POST", "/v1/sessions/c/messages", append("q1"));
      vi.setSystemTime(Date.now() + 20_000);
      expect(await next()).toContain("c");
      expect(await next()).toEqual([]);
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
      await pass(12_000);
      await vi.waitFor(() => expect([revoked(), expired(), changed()]).toEqual([true, true, false]));
      role = "admin";
      await pass(12_000);
      await vi.waitFor(() => expect(changed()).toBe(true));
      expect((await ask("GET", "/v1/changes?wait=1", { key })).body.code).toBe("NOT_ALLOWED");
    } finally {
      vi.useRealTimers();
    }
  });
});
