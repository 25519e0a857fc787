import { isJsonObject, type JsonObject } from "../model/json-object.js";
import { givenMetadata, mergeMetadata } from "../model/session-metadata.js";
import type { SkillState } from "../model/skills.js";
import type { MemoryOwner, UsageRow } from "../storage/contract.js";
import { assertUserId } from "../storage/session-id.js";
import { findText, findTime } from "./found.js";
import { costOf, type ParsedSession, type Position, type SessionCopy, type Skipped, tokensOf } from "./session-file.js";

/** True for the first line of a session, of its vectors, or of what is remembered outside of sessions. */
export const isHeader = (value: JsonObject): boolean =>
  isJsonObject(value.session) || findOwner(value.memory) !== undefined || isJsonObject(value.vectors);

/** Whose memory a header names. */
export function findOwner(value: unknown): MemoryOwner | undefined {
  if (!isJsonObject(value)) return undefined;
  const { user, key, session } = value;
  if (typeof user === "string") return { user };
  if (typeof key === "string") return { key };
  return typeof session === "string" ? { session } : undefined;
}

/** A session as its header tells it; what of it cannot be stored is left out, and told. */
export function openSession(
  header: JsonObject,
  skipped: Skipped[],
  at: Position,
): ParsedSession & { copy: SessionCopy } {
  const { session: given, activeLeafId, memory, skills, usage } = header;
  const owner = findOwner(memory);
  const session = isJsonObject(given) ? given : {};
  const storable = <T>(field: string, read: () => T): T | undefined => {
    try {
      return session[field] === undefined || session[field] === null ? undefined : read();
    } catch {
      skipped.push({ ...at, path: `$.session.${field}`, why: "it cannot be stored" });
      return undefined;
    }
  };
  const id = String(session.id ?? "");
  return {
    id,
    name: givenText(session.name) ?? (owner === undefined ? id : ownerName(owner)),
    source: givenText(session.source),
    model: givenText(session.model),
    parentSessionId: givenText(session.parent_session_id),
    userId: storable("user_id", () => givenUserId(session.user_id)),
    metadata: storable("metadata", () => mergeMetadata({}, givenMetadata(session.metadata))),
    usage: {
      inputTokens: tokensOf(session.input_tokens),
      outputTokens: tokensOf(session.output_tokens),
      cost: costOf(session.estimated_cost),
    },
    messages: [],
    compactions: [],
    activeLeafId: activeLeafId === null && header.stemma !== 1 ? null : findText(activeLeafId),
    copy: {
      owner,
      dates: {
        createdAt: findTime(session.created_at),
        updatedAt: findTime(session.updated_at),
        endReason: givenText(session.end_reason) ?? null,
      },
      skills: isSkillState(skills) ? skills : undefined,
      usageRows: Array.isArray(usage) ? usage.filter(isUsageRow) : [],
      items: [],
    },
    skipped,
  };
}

// An empty text is one: a chat without a title has it as its name, and the unnamed session as its id.
function givenText(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function givenUserId(userId: unknown): string {
  assertUserId(userId);
  return userId;
}

/** What the memory of an owner is called. */
export function ownerName(owner: MemoryOwner): string {
  const [[kind, name] = []] = Object.entries(owner);
  return `memory of ${kind} ${name}`;
}

function isSkillState(value: unknown): value is SkillState {
  return isJsonObject(value) && Array.isArray(value.loaded) && Array.isArray(value.unloaded);
}

function isUsageRow(value: unknown): value is UsageRow {
  if (!isJsonObject(value)) return false;
  const { day, model, requests, inputTokens, outputTokens, cost } = value;
  const numbers = [requests, inputTokens, outputTokens];
  return (
    /^\d{4}-\d\d-\d\d$/.test(String(day)) &&
    typeof model === "string" &&
    numbers.every(Number.isSafeInteger) &&
    Number.isFinite(cost)
  );
}
