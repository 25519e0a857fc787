import { expect, it } from "vitest";
import { textMessage } from "../../helpers/messages.js";
import type { Memory } from "../../workers/hosts/worker.js";
import { tokenOf } from "../../workers/memory-per-user/memories.js";
import { describeWorkerd, type WorkerDefinition } from "../../workers/workerd.js";

const hosts: WorkerDefinition<{ Memory: new () => Memory }> = {
  entry: "hosts/worker.ts",
  objects: { Memory: true },
};

describeWorkerd("a host's Workers in workerd", hosts, (workerd) => {
  const ask = async (worker: number, token: string, method: string, path: string, json?: unknown) => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json", worker: String(worker) };
    const body = json === undefined ? {} : { body: JSON.stringify(json) };
    const response = await workerd.fetch(path, { method, headers, ...body });
    const text = await response.text();
    return { status: response.status, text, body: JSON.parse(text || "null") };
  };
  const append = (worker: number, token: string, id: string) =>
    ask(worker, token, "POST", "/v1/sessions/chat/messages", { messages: [textMessage(id)] });

  it("lets one user through exactly as often as the quota says, by whichever Worker, also after the object slept", async () => {
    const token = tokenOf("ada", { reach: { quota: { writesPerDay: 40 } } });
    const writes = Array.from({ length: 60 }, (_, n) => append(n % 2, token, `m${n}`));
    const statuses = (await Promise.all(writes)).map(({ status }) => status);
    expect([200, 429].map((status) => statuses.filter((each) => each === status).length)).toEqual([40, 20]);
    const { body } = await ask(0, token, "GET", "/v1/sessions/chat/messages?limit=200");
    expect(body.data).toHaveLength(40);
    await workerd.stop();
    expect((await append(1, token, "late")).body.code).toBe("QUOTA_EXCEEDED");
    expect((await ask(1, token, "GET", "/v1/quota")).body.data).toMatchObject([{ quota: "writesPerDay", used: 40 }]);
    // Another user has an object, and a count, of their own.
    expect((await append(0, tokenOf("bob", { reach: { quota: { writesPerDay: 1 } } }), "m")).status).toBe(200);
  });

  it("refuses a quota that users share", async () => {
    const shared = tokenOf("ada", { reach: { quota: { writesPerDay: 40 }, countedAs: "a key" } });
    const { status, body } = await append(0, shared, "m");
    expect([status, body.code]).toEqual([422, "STORE_UNSUPPORTED"]);
  });

  it("tells whoever waits for changes of what an alarm wrote and removed in a session", async () => {
    const token = tokenOf("eve");
    await append(0, token, "m1");
    const wait = (path: string) => ask(0, token, "GET", `${path}?wait=6`);
    const own = workerd.object("Memory", "eve");
    const told = async (work: "append" | "learn" | "upkeep") => {
      const waiting = [wait("/v1/changes"), wait("/v1/sessions/chat/changes")];
      await new Promise((next) => setTimeout(next, 500));
      await own.ring(work, "eve");
      return (await Promise.all(waiting)).map(({ body }) => body.data);
    };
    const change = [expect.objectContaining({ session: "chat", kind: "changed" })];
    expect(await told("append")).toEqual([change, change]);
    // What is learned belongs to the user, and changes no session.
    expect(await told("learn")).toEqual([[], []]);
    expect((await ask(0, token, "GET", "/v1/memory/user/blocks/memory")).body.content).toContain("Said m1.");
    expect(await told("upkeep")).toEqual([change, change]);
  }, 90_000);
});
