import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { message, numbered } from "../../../packages/conformance/src/samples.js";
import {
  exportSession,
  importSession,
  type ParsedSession,
  readSessions,
} from "../../../packages/stemma/src/formats.js";
import { Session, SessionManager } from "../../../packages/stemma/src/session.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { measure } from "../../../reliability/pauses/measure.js";
import { makeFastFolder } from "../../helpers/fast-folder.js";
import { patience } from "../../helpers/patience.js";

// An append of so many in one piece takes longer than the limit.
const LENGTH = 60_000;
const folder = makeFastFolder();
let store: Store;

const list = () => numbered("m", LENGTH).map((id) => message(id, `${id} says something of some length`));
const idsOf = async (id: string) => (await store.session(id).tree()).map((node) => node.id);

beforeAll(async () => {
  store = sqlite(join(folder, "lists.db"), { synchronous: "normal" });
  await store.migrate();
});

afterAll(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

describe("a call that is given a long list lets the event loop turn while it reads it", () => {
  const works: Record<string, (id: string) => (() => unknown) | Promise<() => unknown>> = {
    "Session.appendAll": (id) => {
      const [session, given] = [Session.create(store).forSession(id), list()];
      return () => session.appendAll(given);
    },
    "SessionManager.appendAll": (id) => {
      const [manager, given] = [SessionManager.create(store), list()];
      return () => manager.appendAll(id, given);
    },
    append: (id) => {
      const given = list();
      return () => store.session(id).append(given);
    },
    writeTogether: (id) => {
      const append = list();
      return () => store.writeTogether([{ session: id, append }]);
    },
    importTree: (id) => {
      const messages = list().map((given, at, all) => ({ message: given, parentId: all[at - 1]?.id ?? null }));
      return () => store.session(id).importTree({ messages });
    },
    importSession: async (id) => {
      await store.session("exported").append(list());
      const found: ParsedSession[] = [];
      for await (const session of readSessions(bytesOf(exportSession(store, "exported", "jsonl")))) found.push(session);
      return async () => {
        for (const session of found) await importSession(store, session, id);
      };
    },
  };

  it.each(Object.keys(works))("%s", async (name) => {
    const id = `of ${name}`;
    const work = await works[name]?.(id);
    const { pause } = await measure(() => work?.());
    expect(pause).toBeLessThan(patience(100));
    expect(await idsOf(id)).toEqual(list().map((each) => each.id));
  });
});

it.each(["jsonl", "markdown", "html", "openai", "pi"])("and while it writes a long session as %s", async (format) => {
  await store.session("written").append(list());
  const { pause } = await measure(async () => {
    for await (const _ of exportSession(store, "written", format));
  });
  expect(pause).toBeLessThan(patience(100));
});

async function* bytesOf(texts: AsyncIterable<string | Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const text of texts) yield typeof text === "string" ? new TextEncoder().encode(text) : text;
}

it("the list may be changed as soon as the call was made", async () => {
  const given = list();
  const appended = Session.create(store).forSession("shortened").appendAll(given);
  given.length = 0;
  expect((await appended).length).toBe(LENGTH);
});

it("a short list and its messages may be changed as soon as the call was made", async () => {
  const given = list().slice(0, 500);
  const appended = Session.create(store).forSession("short").appendAll(given);
  for (const each of given) each.parts = [];
  await appended;
  const { messages } = await store.session("short").path();
  expect(messages.length).toBe(500);
  expect(messages.every(({ parts }) => parts.length === 1)).toBe(true);
});

it("what is called later takes effect later", async () => {
  const session = Session.create(store).forSession("ordered");
  const calls = [session.appendAll(list()), session.appendMessage(message("after")), session.getPathLength()];
  const [ids, after, length] = await Promise.all(calls);
  expect([(ids as string[]).length, after, length]).toMatchObject([LENGTH, { inserted: true }, LENGTH + 1]);
  expect((await idsOf("ordered")).at(-1)).toBe("after");
});

it("nothing of a list is stored in which a message cannot be", async () => {
  const bad = [...list(), { ...message("bad"), parts: "none" }];
  const session = Session.create(store).forSession("refused");
  await expect(session.appendAll(bad)).rejects.toMatchObject({ code: "INVALID_MESSAGE" });
  expect(await session.getPathLength()).toBe(0);
});
