import { appendText, invalid, StemmaError } from "@stemma/model";
import type { VersionOptions } from "@stemma/store";
import type { ContextBlock } from "./block.js";
import { LINE_BREAKS } from "./label.js";
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

/*
 * What keeps written text from being taken for the prompt's own lines. Each function has an inverse that gives back
 * exactly what went in, and leaves text without such look-alikes as it is.
 */

/** Runs of `═` at least this long are broken up; the prompt's own have 46. */
const LONG_RUN = 30;
/** No run is left longer than this. */
const SHORT_RUN = 20;

// One sign with the backslashes in front of it. (?<!\\) keeps the search linear in texts that are full of backslashes.
const bar = /(?<!\\)(\\*)═/g;

/** Breaks long runs of `═` with backslashes. */
export function escapeRuns(text: string): string {
  return replaceRuns(text, (slashes, place) => `${slashes}${slashes}${place % SHORT_RUN === 0 ? "\\" : ""}═`);
}

export function unescapeRuns(text: string): string {
  return replaceRuns(text, (slashes) => `${slashes.slice(0, Math.floor(slashes.length / 2))}═`);
}

// Rewrites each sign of the long runs. Escaping keeps the number of `═`, so both directions find the same runs. They are
// followed sign by sign: an expression for a whole run overflows the stack where a run has megabytes.
function replaceRuns(text: string, replace: (slashes: string, place: number) => string): string {
  if (!text.includes("═")) return text;
  const pieces: string[] = [];
  let done = 0;
  let run = { start: 0, end: -1, length: 0 };
  const finish = (): void => {
    if (run.length < LONG_RUN) return;
    let place = 0;
    const replaced = text.slice(run.start, run.end).replace(bar, (_, slashes: string) => replace(slashes, place++));
    pieces.push(text.slice(done, run.start), replaced);
    done = run.end;
  };
  for (const { 0: sign, index } of text.matchAll(bar)) {
    if (index !== run.end) {
      finish();
      run = { start: index, end: index, length: 0 };
    }
    run.end += sign.length;
    run.length += 1;
  }
  finish();
  return pieces.length === 0 ? text : pieces.join("") + text.slice(done);
}

// One visible sign for each character of LINE_BREAKS, in the same order.
const SIGNS = "⏎␍␋␌␜␝␞␤␊␟";
const breaks = new RegExp(String.raw`(?<!\\)(\\*)([${SIGNS}${LINE_BREAKS}])`, "gu");
const signs = new RegExp(String.raw`(?<!\\)(\\*)([${SIGNS}])`, "gu");

/** Writes a text on one line: a line break becomes `⏎`, what already is one gets a backslash in front. */
export function escapeLineBreaks(text: string): string {
  return text.replace(breaks, (_, slashes: string, character: string) => {
    const index = LINE_BREAKS.indexOf(character);
    return index < 0 ? `${slashes}${slashes}\\${character}` : `${slashes}${slashes}${SIGNS.charAt(index)}`;
  });
}

export function unescapeLineBreaks(text: string): string {
  return text.replace(signs, (_, slashes: string, sign: string) => {
    const half = slashes.slice(0, Math.floor(slashes.length / 2));
    return slashes.length % 2 === 1 ? half + sign : half + LINE_BREAKS.charAt(SIGNS.indexOf(sign));
  });
}

/** Puts a backslash before a bracket that follows a space: there the header goes on to what is not the label. */
export function escapeBrackets(label: string): string {
  return label.replace(/(?<= )\\*[([]/g, (found) => `\\${found}`);
}

export function unescapeBrackets(label: string): string {
  return label.replace(/(?<= )\\+[([]/g, (found) => found.slice(1));
}
