import { describe, expect, it } from "vitest";
import type { RedactFunction, Store } from "../../packages/store/src/contract/store.js";
import { everywhere, occurrences, prepare, redact, SECRET, WAYS } from "./canary.js";

export interface Opened {
  readonly store: Store;
  /** All that is kept, as it stands there. */
  kept(): Promise<string>;
}

/** Opens an empty store, with this redact. */
export type OpenRedacted = (redact: RedactFunction | undefined) => Promise<Opened>;

const names = Object.keys(WAYS);

/** What redact promises of a store: each way in leaves no secret, and stores nothing where redact fails. */
export function describeRedact(engine: string, open: OpenRedacted, { tools }: { readonly tools: boolean }): void {
  describe(`redact on ${engine}`, () => {
    ways(open);
    if (tools) searches(open);
  });
}

function searches(open: OpenRedacted): void {
  it("indexes what is stored of tool calls", async () => {
    const { store, kept } = await open(redact);
    const { parts, ...message } = everywhere("a");
    await store.session("s").append([{ ...message, parts: parts.filter(({ type }) => type === "tool-look") }]);
    const [hit] = await store.search("keep", { limit: 1 });
    expect(hit?.content).toBe(
      "deep: er: my key is [key], keep it\nid: my key is [key], keep it\ntype: my key is [key], keep it\ncontent: type: text\ntext: my key is [key], keep it\nmy key is [key], keep it",
    );
    expect(occurrences(await kept())).toBe(0);
    await store.close();
  });
}

function ways(open: OpenRedacted): void {
  it.each(names)("keeps no secret that comes by %s", async (way) => {
    const { store, kept } = await open(redact);
    await prepare(store);
    await WAYS[way]?.(store);
    await store.sessions.list({});
    expect(occurrences(await kept())).toBe(0);
    await store.close();
  });

  it("would keep each secret without it", async () => {
    const { store, kept } = await open(undefined);
    await prepare(store);
    await WAYS["session.append"]?.(store);
    expect(occurrences(await kept())).toBeGreaterThan(1);
    await store.close();
  });

  it.each(names)("fails %s and stores nothing of it when redact throws or gives no text", async (way) => {
    for (const fail of [
      () => {
        throw new Error("out of order");
      },
      () => Promise.resolve("later") as never,
      () => undefined as never,
    ]) {
      const { store, kept } = await open((text) => (text.includes(SECRET) ? fail() : text));
      await prepare(store);
      const before = await stateOf(store);
      const error = await WAYS[way]?.(store).then(
        () => null,
        (failure: unknown) => failure,
      );
      expect(error).toMatchObject({ code: "REDACTION_FAILED" });
      expect(
        occurrences(`${(error as Error).message} ${JSON.stringify((error as { details: unknown }).details)}`),
      ).toBe(0);
      expect(await stateOf(store)).toEqual(before);
      expect(occurrences(await kept())).toBe(0);
      await store.close();
    }
  });
}

// What a failed write could have changed.
async function stateOf(store: Store): Promise<unknown> {
  const { sessions } = await store.sessions.list({});
  const messages = await Promise.all(sessions.map(({ id }) => store.session(id).tree()));
  const entries = await store.entries.list({ sessionId: "s", label: "facts" });
  const records = await store.records.list({ sessionId: "s", label: "mine" });
  const compactions = await store.session("s").compactions();
  return { sessions, messages, entries, records, compactions, blocks: await store.blocks.list({ sessionId: "s" }) };
}
