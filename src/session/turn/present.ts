import type { ContextBlock } from "../../context/block.js";
import type { SessionContext } from "../../context/session-context.js";
import type { SessionMessage } from "../../model/message.js";
import { sha256 } from "../../model/sha256.js";
import type { SessionBackend } from "../provider.js";
import type { TurnLog } from "./log.js";
import type { TurnNote } from "./notes.js";
import type { TurnState } from "./record.js";
import type { PrepareTurnOptions } from "./request.js";

/** What a turn is decided by, as it is now. */
export interface Present {
  /** The frozen prompt with its digest; null before the first. */
  readonly frozen: { readonly text: string; readonly digest: string } | null;
  readonly blocks: readonly ContextBlock[];
  /** The labels of all blocks, those that cannot be read included. */
  readonly labels: readonly string[];
  /** The visible history. */
  readonly messages: readonly SessionMessage[];
  /** What was sent last. */
  readonly state: TurnState | null;
  /** What was told beside the frozen prompt, by message. */
  readonly notes: ReadonlyMap<string, TurnNote>;
}

/** Where what a turn is decided by is read. */
export interface TurnSources {
  readonly backend: SessionBackend;
  readonly context: SessionContext;
  readonly log: TurnLog;
}

/** Reads what a turn is decided by. What it asks of the store is asked at once. */
export async function readPresent(
  { backend, context, log }: TurnSources,
  { onCorrupt }: PrepareTurnOptions,
): Promise<Present> {
  const [text, blocks, { messages }, state] = await Promise.all([
    context.prompt.known(),
    context.prompt.presentBlocks(),
    backend.path({ onCorrupt }),
    log.state(),
  ]);
  const frozen = text === null ? null : { text, digest: sha256(text) };
  const labels = context.live.all.map(({ label }) => label);
  return { frozen, blocks, labels, messages, state, notes: await log.notes(frozen?.digest) };
}
