import { describe, expect, expectTypeOf, it } from "vitest";
import type { ContextBlockOptions } from "../../../src/context/block.js";
import {
  type ContextBlockProvider,
  type ContextProvider,
  isProvider,
  isVersioned,
  isWritable,
  type SearchProvider,
  type SkillProvider,
  shapeOf,
  type WritableContextProvider,
} from "../../../src/context/provider.js";
import { AgentContextProvider } from "../../../src/context/providers/store-context.js";

const read = async (): Promise<string | null> => "x";
const write = async (..._: unknown[]): Promise<{ ok: boolean }> => ({ ok: true });

const readOnly: ContextProvider = { get: async () => "Static content here" };
const writable: WritableContextProvider = { get: async () => read(), set: async (content) => write(content.length) };
const skills: SkillProvider = {
  get: async () => "- api-ref: API Reference\n- guide: User Guide",
  load: async (key) => (key.length > 0 ? read() : null),
  set: async (key, content, description) => write(key, content, description?.length),
};
const search: SearchProvider = {
  get: async () => "42 entries indexed",
  search: async (query) => (query.length > 0 ? read() : null),
  set: async (key, content) => write(key.length, content.length),
};

describe("what a provider can do", () => {
  it.each<[string, ContextBlockProvider, boolean, boolean, boolean]>([
    ["get", readOnly, false, false, false],
    ["get and set", writable, true, false, false],
    ["get, load and set", skills, true, true, false],
    ["get and load", { get: read, load: read }, false, true, false],
    ["get, search and set", search, true, false, true],
    ["get and search", { get: read, search: read }, false, false, true],
    ["get, load and search", { get: read, load: read, search: read }, false, true, true],
  ])("shows in its methods: %s", (_, provider, canWrite, isSkill, isSearchable) => {
    expect(shapeOf(provider)).toEqual({ writable: canWrite, isSkill, isSearchable });
    expect(isWritable(provider)).toBe(canWrite && !isSkill && !isSearchable);
  });

  it("may be inherited from a class", () => {
    class Base {
      async get() {
        return "x";
      }
      async set() {}
    }
    class Derived extends Base {}
    expect(shapeOf(new Derived()).writable).toBe(true);
    expect(isVersioned(new AgentContextProvider({}, "a"))).toBe(true);
    expect(isVersioned(writable)).toBe(false);
  });

  it("starts with get", () => {
    for (const value of [null, undefined, "x", {}, { get: "x" }, () => "x"]) expect(isProvider(value)).toBe(false);
    expect(isProvider(readOnly)).toBe(true);
  });

  it("is inferred in the place where it is written", () => {
    const options: ContextBlockOptions[] = [
      { provider: { get: async () => "x" } },
      { provider: { get: async () => "x", set: async (content) => expectTypeOf(content).toBeString() } },
      {
        provider: {
          get: async () => "x",
          search: async (query) => query.toUpperCase(),
          set: async (key, content) => {
            expectTypeOf(key).toBeString();
            expectTypeOf(content).toBeString();
          },
        },
      },
      { provider: { get: async () => "x", load: async (key) => key.toUpperCase() } },
    ];
    expect(options).toHaveLength(4);
  });
});
