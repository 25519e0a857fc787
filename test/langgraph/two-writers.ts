import type { BaseMessage } from "@langchain/core/messages";
import { expect } from "vitest";
import type { Store } from "../../packages/stemma/src/index.js";
import { StemmaSaver } from "../../packages/stemma/src/langgraph.js";
import { type Acknowledged, config } from "./write-checkpoints.js";

/** Every acknowledged checkpoint is there and says what was put, and the session shows it as a path of its own. */
export async function expectWhole(store: Store, acknowledged: readonly Acknowledged[]): Promise<void> {
  const saver = new StemmaSaver(store);
  for (const one of acknowledged) {
    const tuple = await saver.getTuple(config(one.id));
    expect(shown(tuple?.checkpoint.channel_values.messages)).toEqual(one.messages);
    expect(tuple?.pendingWrites?.map(([, , value]) => value)).toEqual([[one.written]]);
  }
  const listed: string[] = [];
  for await (const { checkpoint } of saver.list(config())) listed.push(checkpoint.id);
  expect(listed).toHaveLength(new Set(listed).size);
  expect(listed).toEqual(expect.arrayContaining(acknowledged.map(({ id }) => id)));
  const paths = await pathsOf(store);
  for (const { messages } of acknowledged) expect(paths).toContain(JSON.stringify(messages.map(([, text]) => text)));
  expect((await store.whole?.check?.()) ?? (await store.check?.())).toMatchObject({ problems: [] });
}

export function shown(messages: unknown): (readonly [string, string])[] {
  return ((messages ?? []) as BaseMessage[]).map((message) => [String(message.id), message.text] as const);
}

// What is said from a root to each message of the session's tree.
async function pathsOf(store: Store): Promise<Set<string>> {
  const texts = new Map<string, string[]>();
  for await (const { message, parentId } of store.session("t").messages()) {
    const before = parentId === null ? [] : texts.get(parentId);
    if (before === undefined) throw new Error(`The parent of ${message.id} is not there.`);
    texts.set(message.id, [...before, String(message.parts[0]?.text)]);
  }
  return new Set([...texts.values()].map((path) => JSON.stringify(path)));
}
