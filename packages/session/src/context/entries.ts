import { appendText } from "@stemma/model";
import type { VersionOptions } from "@stemma/store";
import type { ToolEntry, WriteAction } from "../tools/tool.js";
import type { LiveBlock } from "./live-block.js";
import {
  callProvider,
  isKeyed,
  isSearchProvider,
  isSkillProvider,
  readProvider,
  type SearchProvider,
  type SkillProvider,
} from "./provider.js";

/** Writes one entry of a keyed block within the block's budget, which bounds each entry. */
export async function writeEntry(
  block: LiveBlock,
  entry: ToolEntry,
  action: WriteAction,
  options: VersionOptions,
): Promise<void> {
  const { label, provider } = block;
  const { key, content, description } = entry;
  if (!isKeyed(provider)) throw block.refusal("holds one text without keys");
  if (!provider.set) throw block.readonlyError();
  block.assertBudget(content);
  const about = block.turns.isOwn
    ? [description, block.noted(options)]
    : description === undefined
      ? []
      : [description];
  const set = (whole: string) => callProvider(label, "set", () => provider.set?.(key, whole, ...(about as [string])));
  if (action === "replace") {
    await block.turns.writing(() => set(content));
  } else {
    await appendEntry(block, provider, entry, set, options);
  }
}

async function appendEntry(
  block: LiveBlock,
  provider: SkillProvider | SearchProvider,
  { key, content }: ToolEntry,
  set: (whole: string) => Promise<unknown>,
  options: VersionOptions,
): Promise<void> {
  const { label } = block;
  const bounds = block.turns.isOwn ? block.noted({ ...options, maxTokens: block.cap }) : { maxTokens: block.cap };
  const append = (text: string) => callProvider(label, "append", () => provider.append?.(key, text, bounds));
  if (!isSkillProvider(provider)) {
    // What is there already is not known here: the provider begins the new line.
    if (provider.append) return void (await block.turns.writing(() => append(content)));
    throw block.refusal("cannot append: its provider can neither append nor load. Use the action replace");
  }
  await block.turns.writing(async () => {
    const before = (await readProvider(label, "load", () => provider.load(key))) ?? "";
    const whole = appendText(before, content);
    block.assertBudget(whole);
    if (provider.append) await append(whole.slice(before.length));
    else await set(whole);
  });
}

/** A whole document; null when there is none under this key. */
export async function loadEntry(block: LiveBlock, key: string): Promise<string | null> {
  const { label, provider } = block;
  if (!isSkillProvider(provider)) throw block.refusal("has no documents to load");
  return block.turns.reading(() => readProvider(label, "load", () => provider.load(key)));
}

/** The entries that match, as text; null when none does. */
export async function searchEntries(block: LiveBlock, query: string): Promise<string | null> {
  const { label, provider } = block;
  if (!isSearchProvider(provider)) throw block.refusal("cannot be searched");
  return block.turns.reading(() => readProvider(label, "search", () => provider.search(query)));
}

/** True when a line of a listing (`- key` or `- key: description`) shows this very key. */
export function listsKey(listing: string, key: string): boolean {
  return listing.split("\n").some((line) => line === `- ${key}` || line.startsWith(`- ${key}: `));
}
