import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { Session } from "../../packages/stemma/src/session.js";
import { memory } from "../../packages/store/src/memory.js";
import { ROOT } from "../package/manifest.js";
import { snippetsOf } from "./snippets.js";

const FOLDER = mkdtempSync(join(ROOT, "test/docs/.generated-"));
afterAll(() => rmSync(FOLDER, { recursive: true, force: true }));

type OpenSession = (host: object, env: object) => Session | Promise<Session>;

/** The function that the page's program with this binding exports. */
async function openSessionWith(binding: string): Promise<OpenSession> {
  const snippet = snippetsOf("docs/stores/writing-a-store.md").find(({ code }) => code.includes(binding));
  const path = join(FOLDER, `${binding}.ts`);
  writeFileSync(path, snippet?.code ?? "");
  return (await import(path)).openSession;
}

// What these programs need is Cloudflare's: here the bindings keep what they get.
describe("the programs of docs/stores/writing-a-store.md for Cloudflare", () => {
  it("search an index of Vectorize, and write to it", async () => {
    const held = new Map<string, { values: number[]; metadata: Record<string, string> }>();
    const likeness = (one: number[], other: number[]) =>
      one.reduce((sum, value, at) => sum + value * (other[at] ?? 0), 0);
    const env = {
      VECTORIZE: {
        query: async (vector: number[], { topK }: { topK: number }) => ({
          matches: [...held.values()]
            .sort((one, other) => likeness(vector, other.values) - likeness(vector, one.values))
            .slice(0, topK),
        }),
        upsert: async (vectors: { id: string; values: number[]; metadata: Record<string, string> }[]) => {
          for (const { id, ...vector } of vectors) held.set(id, vector);
        },
      },
      AI: {
        run: async (_model: string, { text }: { text: string[] }) => ({
          data: text.map((each) => ["refund", "ship"].map((word) => each.toLowerCase().split(word).length - 1)),
        }),
      },
    };
    const session = await (await openSessionWith("VECTORIZE"))(memory(), env);
    const { set_context, search_context } = await session.tools();
    for (const [title, content] of [
      ["Shipping", "We ship on Fridays."],
      ["Refunds", "Refunds take a week."],
    ]) {
      await set_context?.execute({ label: "knowledge", content: content ?? "", metadata: { title: title ?? "" } });
    }
    expect([...held.keys()]).toEqual(["shipping", "refunds"]);
    const found = await search_context?.execute({ label: "knowledge", query: "how are refunds made?" });
    expect(found).toMatch(/^Refunds take a week\.[\s\S]*We ship on Fridays\./);
    expect(await session.freezeSystemPrompt()).toContain("Product documentation and FAQs");
  });

  it("upload a skill to an R2 bucket, list it with its description, and load it", async () => {
    const held = new Map<string, { text: string; customMetadata: Record<string, string> }>();
    const of = (key: string) => ({ key, customMetadata: held.get(key)?.customMetadata });
    const env = {
      SKILLS_BUCKET: {
        list: async ({ prefix = "" }) => ({
          objects: [...held.keys()].filter((key) => key.startsWith(prefix)).map(of),
          truncated: false,
        }),
        head: async (key: string) => (held.has(key) ? of(key) : null),
        get: async (key: string) => (held.has(key) ? { text: async () => held.get(key)?.text } : null),
        put: async (key: string, text: string, { customMetadata = {} } = {}) => held.set(key, { text, customMetadata }),
      },
    };
    const session = await (await openSessionWith("SKILLS_BUCKET"))(memory(), env);
    expect([...held.keys()]).toEqual(["skills/api-ref"]);
    expect(await session.freezeSystemPrompt()).toContain("- api-ref: API Reference documentation");
    const { load_context } = await session.tools();
    expect(await load_context?.execute({ label: "skills", key: "api-ref" })).toBe("…");
  });
});
