import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { AgentSessionProvider, Session, SessionManager } from "../../../packages/stemma/src/session.js";
import { ROOT } from "../../package/manifest.js";
import { OPTION_CALLS, refusalOf, store } from "../../package/option-calls.js";

const session = () => Session.create(store);
const manager = () => SessionManager.create(store);

/** Functions that take an object by the name of options which is not a table of ours, and why. */
const OTHERS: Record<string, string> = {
  "AgentSearchProvider.set": "a block hands on what its own caller said",
  "AgentSearchProvider.delete": "a block hands on what its own caller said",
  "AgentSession.open": "sessions are made by createSession()",
  "StemmaSaver.list": "LangGraph's",
  "StemmaSaver.getDeltaChannelHistory": "LangGraph's",
  "new StemmaError": "ErrorOptions of JavaScript",
  useChatTree: "those of the AI SDK among them",
};

/** What `api.txt` shows to take options: functions, and methods of classes. */
function takers(): string[] {
  let owner = "";
  const found = readFileSync(`${ROOT}test/package/api.txt`, "utf8")
    .split("\n")
    .flatMap((line) => {
      owner = /^export declare (?:abstract )?class (\w+)/.exec(line)?.[1] ?? (line === "}" ? "" : owner);
      const [, name] =
        /^export declare function (\w+)/.exec(line) ?? /^ {4}(?:static )?(\w+)(?:<.*>)?\(/.exec(line) ?? [];
      if (name === undefined || !/\b_?(options|change|request)\??: (?!Request\b)/.test(line)) return [];
      if (!line.startsWith(" ")) return [name];
      return owner === "" ? [] : [name === "constructor" ? `new ${owner}` : `${owner}.${name}`];
    });
  return [...new Set(found)];
}

describe("a misspelt option", () => {
  it.each(Object.keys(OPTION_CALLS))("of %s is refused, with those that there are", async (name) => {
    const message = expect.stringMatching(/^The options of .* are \w+.*; "dryrun" is none of them\.$/);
    expect(await refusalOf(name)).toMatchObject({ code: "INVALID_ARGUMENT", message, details: { option: "dryrun" } });
  });

  it("is refused by everything public that takes options", () => {
    const known = [...Object.keys(OPTION_CALLS), ...Object.keys(OTHERS)];
    expect(takers().filter((name) => !known.includes(name))).toEqual([]);
    expect(takers().length).toBeGreaterThan(70);
  });

  it("is refused before anything is written", async () => {
    expect(await store.sessions.list({})).toMatchObject({ sessions: [] });
  });

  it("of a block of the context is refused", () => {
    const context = [{ label: "memory", dryrun: true }] as never;
    expect(() => new Session(new AgentSessionProvider(store), { context })).toThrow(
      expect.objectContaining({ code: "INVALID_ARGUMENT", details: { option: "dryrun" } }),
    );
  });
});

it("a whole configuration of a block can be given, with its label", () => {
  const block = { label: "memory", description: "Facts", maxTokens: 100 };
  expect(() => session().withContext(block.label, block)).not.toThrow();
  expect(() => manager().withContext(block.label, block)).not.toThrow();
  expect(() => new Session(new AgentSessionProvider(store), { context: [block] })).not.toThrow();
});

it("is refused by Session.create(), which takes none", () => {
  const create = Session.create as (host: unknown, options?: unknown) => Session;
  expect(() => create(store, { sessionId: "s" })).toThrow(
    expect.objectContaining({ code: "INVALID_ARGUMENT", message: expect.stringContaining("forSession()") }),
  );
  expect(() => create(store, undefined)).not.toThrow();
});
