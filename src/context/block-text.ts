import { invalid, StemmaError } from "../errors.js";
import { appendText } from "../model/text.js";
import type { VersionOptions } from "../storage/contract.js";
import type { ContextBlock } from "./block.js";
import { type LiveBlock, readingOf } from "./live-block.js";
import { isKeyed, isVersioned, isWritable, type WritableContextProvider, type WriteOptions } from "./provider.js";

/** How often a patch is applied anew because someone else wrote in between. */
const MAX_PATCHES = 50;

/** Replaces the text of a block without keys, within its budget. Gives the block as this write left it. */
export async function replaceText(block: LiveBlock, content: string, options: WriteOptions): Promise<ContextBlock> {
  const provider = writable(block);
  block.assertBudget(content);
  // Refused where it does not fit.
  block.document?.read(content);
  if (!isVersioned(provider) && options.expectedVersion !== undefined) {
    const { label } = block;
    throw invalid(`The provider of "${label}" keeps no versions; leave expectedVersion out.`, { label });
  }
  return block.turns.writing(() => set(block, provider, content, options));
}

/** The same for text at its end. */
export async function addText(block: LiveBlock, text: string, options: VersionOptions): Promise<ContextBlock> {
  const provider = writable(block);
  const { cap: maxTokens } = block;
  block.assertBudget(text);
  if (block.document !== null) {
    const rule = "write a JSON Merge Patch, without an action";
    throw block.refusal(`is a JSON object, so nothing can be appended to it: ${rule}`);
  }
  return block.turns.writing(async () => {
    if (isVersioned(provider)) {
      const noted = block.noted({ ...options, maxTokens });
      return block.stored("append", () => provider.append(text, noted), readingOf);
    }
    const { text: before } = await block.fetch();
    const whole = appendText(before, text);
    block.assertBudget(whole);
    if (!provider.append) return set(block, provider, whole, {});
    const added = () => provider.append?.(whole.slice(before.length), { maxTokens });
    return block.stored("append", added, () => ({ text: whole }));
  });
}

/** The same for a JSON Merge Patch of a block with a schema. Patches of several writers are all applied. */
export async function patchText(block: LiveBlock, patch: unknown, options: VersionOptions): Promise<ContextBlock> {
  const provider = writable(block);
  const { document } = block;
  if (document === null) throw block.refusal("has no schema, so it cannot be patched: replace its content");
  return block.turns.writing(async () => {
    for (let attempt = 1; ; attempt += 1) {
      const { text, version = 0 } = await block.fetch();
      const content = document.patched(text, patch);
      block.assertBudget(content);
      const expected = isVersioned(provider) ? { expectedVersion: version } : {};
      try {
        return await set(block, provider, content, { ...options, ...expected });
      } catch (error) {
        // Someone else wrote in between: the patch is applied to that.
        if (attempt === MAX_PATCHES || !StemmaError.isInstance(error, "BLOCK_CONFLICT")) throw error;
      }
    }
  });
}

function set(block: LiveBlock, provider: WritableContextProvider, content: string, options: WriteOptions) {
  if (isVersioned(provider)) return block.stored("set", () => provider.set(content, block.noted(options)), readingOf);
  const call = () => provider.set(content);
  return block.stored("set", call, () => ({ text: content }));
}

function writable(block: LiveBlock): WritableContextProvider {
  const { provider } = block;
  if (isWritable(provider)) return provider;
  if (!isKeyed(provider) || !block.shape.writable) throw block.readonlyError();
  throw block.refusal("holds entries under keys; write one with the set_context tool and a title");
}
