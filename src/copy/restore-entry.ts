import type { ParsedSession, SessionCopy } from "../formats/session-file.js";
import { sessionHeader } from "../formats/store-lines.js";
import type { JsonObject } from "../model/json-object.js";
import { sameJson } from "../model/same-json.js";
import type { SessionInfo, Store } from "../storage/contract.js";
import { conflict } from "./conflict.js";

const COUNTED = ["input_tokens", "output_tokens", "estimated_cost"] as const;
const DATED = ["created_at", "updated_at", "end_reason"] as const;

/**
 * Gives a session the usage, the skills, the active leaf and the dates that `header` tells, which every write before changes.
 * Resolves to whether anything was missing. Errors: `COPY_CONFLICT`.
 */
export async function restoreEntry(
  store: Store,
  header: JsonObject,
  { id, copy, usage }: ParsedSession & { copy: SessionCopy },
): Promise<boolean> {
  const refuse = (what: string) => conflict({ session: id }, what);
  const info = await store.sessions.get(id);
  if (info === null) throw refuse("it was deleted meanwhile");
  const present = await sessionHeader(store, info);
  const given = header.session as unknown as SessionInfo;
  const isUsed = isEqual(present.usage, header.usage) && COUNTED.every((name) => info[name] === given[name]);
  if (!isUsed) {
    const isCounted = (present.usage as unknown[]).length > 0 || COUNTED.some((name) => info[name] !== 0);
    if (isCounted) throw refuse("it counts other usage");
    await store.sessions.importUsage(id, usage ?? { inputTokens: 0, outputTokens: 0, cost: 0 }, copy.usageRows);
  }
  const isSkilled = isEqual(present.skills, header.skills);
  if (!isSkilled && !isEqual(present.skills, { loaded: [], unloaded: [] })) throw refuse("it has other skills");
  const isPlaced = isSkilled && present.activeLeafId === header.activeLeafId;
  if (!isPlaced) {
    const activeLeafId = header.activeLeafId as string | null;
    const skills = isSkilled ? undefined : copy.skills;
    await store.session(id).importTree({ messages: [], activeLeafId, skills });
  }
  const dated = await store.sessions.get(id);
  const isDated = dated !== null && DATED.every((name) => dated[name] === given[name]);
  if (!isDated) await store.sessions.restore(id, copy.dates);
  return !(isUsed && isPlaced && isDated);
}

/** True for the same values; what is missing is null on the other side. */
export function isEqual(one: unknown, other: unknown): boolean {
  return sameJson(one ?? null, other ?? null);
}
