// A chat's question is looked for before its run is taken: here somebody writes in between.
import { describe, expect, it } from "vitest";
import { chatHandler } from "../../../packages/stemma/src/ai-sdk.js";
import { SessionManager } from "../../../packages/stemma/src/session.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import { memory } from "../../../packages/store/src/memory.js";
import { scriptedModel } from "../../ai-sdk/scripted-model.js";

const asks = (id: string) => ({
  id,
  role: "user" as const,
  parts: [{ type: "text" as const, text: `Question ${id}` }],
});
const says = (id: string) => ({
  id,
  role: "assistant" as const,
  parts: [{ type: "text" as const, text: `Answer ${id}` }],
});

/** Another process: a store of its own on the same data, which first does `before` when it takes a run. */
function elsewhere(store: Store, before: () => Promise<unknown>): Store {
  let isFirst = true;
  const set: Store["records"]["set"] = async (scope, key, ...rest) => {
    if (key === "run" && isFirst) {
      isFirst = false;
      await before();
    }
    return store.records.set(scope, key, ...rest);
  };
  const own: Store = { ...store, records: { ...store.records, set } };
  return { ...own, forUser: () => ({ ...own, userId: "ada", whole: own }) };
}

async function ask(store: Store, id: string): Promise<{ status: number; text: string }> {
  const { model } = scriptedModel(() => "Yes.");
  const sessions = SessionManager.create(store).withContext("notes").withCachedPrompt();
  const handler = chatHandler({ sessions, model, authenticate: () => ({ userId: "ada" }) });
  const ended: Promise<unknown>[] = [];
  const body = JSON.stringify({ id: "chat", messages: [says("a1"), asks(id)] });
  const response = await handler(new Request("http://host/api/chat", { method: "POST", body }), {
    waitUntil: (work) => ended.push(work),
  });
  const text = await response.text();
  await Promise.all(ended);
  return { status: response.status, text };
}

async function started(): Promise<Store> {
  const store = memory().forUser("ada");
  await store.session("chat").append([asks("u1"), says("a1")]);
  return store;
}

const pathOf = async (store: Store) => (await store.session("chat").path()).messages.map(({ id }) => id);

describe("a question of a chat", () => {
  it("comes behind what somebody appended meanwhile", async () => {
    const store = await started();
    const other = elsewhere(store, () => store.session("chat").append([asks("u2"), says("a2")]));
    expect(await ask(other, "u3")).toMatchObject({ status: 200 });
    expect((await pathOf(store)).slice(0, 5)).toEqual(["u1", "a1", "u2", "a2", "u3"]);
  });

  it("is on the client's branch, though somebody made another one the active one meanwhile", async () => {
    const store = await started();
    const other = elsewhere(store, () => store.session("chat").append([asks("u2")], "u1"));
    expect(await ask(other, "u3")).toMatchObject({ status: 200 });
    expect((await pathOf(store)).slice(0, 3)).toEqual(["u1", "a1", "u3"]);
  });

  it("is stored and answered once where another process did so meanwhile", async () => {
    const store = await started();
    const other = elsewhere(store, () =>
      ask(
        elsewhere(store, async () => {}),
        "u3",
      ),
    );
    const { status, text } = await ask(other, "u3");
    expect(status).toBe(200);
    expect(text).toContain("Yes.");
    expect(await pathOf(store)).toHaveLength(4);
    expect(await store.session("chat").branchIds("u3")).toHaveLength(1);
  });

  it("is not begun where its chat cannot be registered, and holds up nobody", async () => {
    const store = await started();
    const other = elsewhere(store, async () => {});
    const create = async () => {
      throw new Error("The registry is locked.");
    };
    const forUser = () => ({ ...other.forUser("ada"), sessions: { ...store.sessions, create } });
    expect(await ask({ ...other, forUser }, "u3")).toMatchObject({ status: 500 });
    expect(await pathOf(store)).toEqual(["u1", "a1"]);
    expect(await ask(other, "u3")).toMatchObject({ status: 200 });
    expect((await pathOf(store)).slice(0, 3)).toEqual(["u1", "a1", "u3"]);
  });
});
