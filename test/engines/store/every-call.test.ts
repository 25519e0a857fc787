import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import * as copy from "../../../packages/stemma/src/copy.js";
import * as copyNode from "../../../packages/stemma/src/copy-node.js";
import * as formats from "../../../packages/stemma/src/formats.js";
import { Session, SessionManager } from "../../../packages/stemma/src/session.js";
import { memory } from "../../../packages/store/src/memory.js";
import { studioRoutes } from "../../../packages/studio/src/create-studio.js";
import {
  CHAT_CALLS,
  MANAGER_CALLS,
  OTHER_CALLS,
  SESSION_CALLS,
  STORE_CALLS,
  STUDIO_CALLS,
} from "../../../reliability/pauses/calls.js";
import { measureCalls } from "../../../reliability/pauses/measure-calls.js";

// What is measured at 100,000 messages is held against what can be called.

const folder = mkdtempSync(join(tmpdir(), "stemma-every-call-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const methodsOf = (prototype: object) => Object.getOwnPropertyNames(prototype).filter((name) => name !== "constructor");

const functionsOf = (object: object, prefix = "") =>
  Object.entries(object).flatMap(([name, value]) => (typeof value === "function" ? [prefix + name] : []));

it("no method of a session and of the manager is left out", () => {
  expect(Object.keys(SESSION_CALLS).sort()).toEqual(methodsOf(Session.prototype).sort());
  expect(Object.keys(MANAGER_CALLS).sort()).toEqual(methodsOf(SessionManager.prototype).sort());
});

it("no method of a store is left out", () => {
  const store = memory();
  const parts = ["sessions", "blocks", "entries", "records", "vectors"] as const;
  const names = [
    ...functionsOf(store),
    ...functionsOf(store.session("s"), "session()."),
    ...parts.flatMap((part) => functionsOf(store[part] ?? {}, `${part}.`)),
  ];
  expect(Object.keys(STORE_CALLS).sort()).toEqual(names.sort());
});

it("no function that copies, reads or writes a whole session or store is left out", () => {
  const names = [copy, copyNode, formats].flatMap((entry) => functionsOf(entry));
  expect(Object.keys(OTHER_CALLS).sort()).toEqual(names.sort());
});

it("no route of the chat handler and of the studio is left out", () => {
  const source = readFileSync(
    new URL("../../../packages/chat/src/ai-sdk/handler/chat-handler.ts", import.meta.url),
    "utf8",
  );
  const routes = Array.from(source.matchAll(/case "([A-Z]+ \/\S*)":/g), ([, route]) => route);
  expect(Object.keys(CHAT_CALLS).sort()).toEqual(routes.sort());
  const api = studioRoutes("").flatMap(({ path }) => (path.startsWith("/api/") ? [path.slice("/api/".length)] : []));
  expect(Object.keys(STUDIO_CALLS).sort()).toEqual(api.sort());
});

it("each of the calls works", async () => {
  const calls = await measureCalls({ folder, size: 200, runs: 1 });
  expect(calls.filter(({ failure }) => failure !== null)).toEqual([]);
});
