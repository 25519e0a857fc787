import { StemmaError } from "@stemma/model";
import type { StoredVersion, VersionOptions } from "@stemma/store";
import type { ContextBlock } from "./block.js";
import { replaceText } from "./block-text.js";
import type { LiveBlock } from "./live-block.js";
import { callProvider, isVersioned } from "./provider.js";
import { AgentSearchProvider } from "./providers/agent-search.js";

/** The versions that are kept of a block, or of one of its entries, the newest first. Errors: `INVALID_ARGUMENT`. */
export async function versionsOf(block: LiveBlock, key: string | undefined): Promise<StoredVersion[]> {
  const { label, provider } = block;
  if (provider instanceof AgentSearchProvider) {
    if (key === undefined) throw block.refusal("holds entries: name one, as { key }");
    return block.turns.reading(() => provider.versions(key));
  }
  if (key !== undefined) throw block.refusal("keeps no versions of entries");
  if (!isVersioned(provider) || provider.versions === undefined)
    throw block.refusal("has a provider that keeps no versions");
  return block.turns.reading(() => callProvider(label, "versions", () => provider.versions?.() ?? []));
}

/** What a version says; null for an entry that was removed. Errors: `VERSION_NOT_FOUND`, `INVALID_ARGUMENT`. */
export async function findVersion(block: LiveBlock, version: number, key: string | undefined): Promise<string | null> {
  const found = (await versionsOf(block, key)).find((each) => each.version === version);
  if (found !== undefined) return found.content;
  const { label } = block;
  const what = key === undefined ? `Block "${label}"` : `Entry "${key}" of "${label}"`;
  const message = `${what} has no version ${version}, or no longer keeps it. getBlockHistory() lists the versions that are kept.`;
  throw new StemmaError("VERSION_NOT_FOUND", { label, version }, message);
}

/** Writes what a version said anew. Gives the block as it is then. Errors: `BLOCK_OVER_BUDGET`. */
export async function restoreVersion(
  block: LiveBlock,
  content: string | null,
  key: string | undefined,
  options: VersionOptions,
): Promise<ContextBlock> {
  const { provider } = block;
  if (key === undefined || !(provider instanceof AgentSearchProvider))
    return replaceText(block, content ?? "", options);
  if (content !== null) block.assertBudget(content);
  const noted = block.noted(options);
  await block.turns.writing(() =>
    content === null ? provider.delete(key, noted) : provider.set(key, content, undefined, noted),
  );
  return block.read();
}
