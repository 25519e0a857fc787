import { metadataOfFolder } from "../../model/folder-metadata.js";
import { isJsonObject, type JsonObject } from "../../model/json-object.js";
import type { SessionMessage, SessionMessagePart } from "../../model/message.js";
import { nameOf } from "../../model/storable-name.js";
import { isoTime } from "../../model/text.js";
import { deriveId } from "../identity.js";
import { without } from "../origin.js";
import { addSource, type Place, SessionBuilder, START } from "../session-builder.js";
import type { FileInfo, Position } from "../session-file.js";
import { fieldsOfOutput, isOutput, KEPT, partOfItem, partsOfContent } from "./codex-items.js";
import type { RolloutLine } from "./codex-line.js";
import { UsageOfTurns } from "./codex-usage.js";

/** Events that say again what an item says, or that are read here. */
const READ = [
  "user_message",
  "agent_message",
  "agent_reasoning",
  "token_count",
  "thread_rolled_back",
  "context_compacted",
];

/** Turns that a rollback can lead back to. */
const TURNS = 10_000;

/**
 * One session of Codex, line by line. What the model says, thinks and calls before the next result or user's message is
 * one message. A rollback leads back to where the conversation stood before the turns it names; what follows is a branch.
 */
export class CodexSession {
  /** What was read so far. */
  readonly builder: SessionBuilder;
  readonly #usage: UsageOfTurns;
  /** The place above each turn of the path, of a long one those of the last turns. */
  #turns: Place[] = [];
  #place: Place = START;
  /** The key of the line before: it makes the keys of equal lines differ. */
  #before: string | null = null;
  /** The model's message that further items go into. */
  #answer: string | undefined;

  constructor({ payload }: RolloutLine, { stem }: FileInfo) {
    const id = typeof payload.id === "string" && payload.id !== "" ? payload.id : stem;
    this.builder = new SessionBuilder({ id, source: "codex", parentSessionId: parentOf(payload) });
    this.builder.describe(metadataOfFolder(payload.cwd));
    this.#usage = new UsageOfTurns(this.builder);
  }

  add(rollout: RolloutLine, at: Position, length: number): void {
    this.builder.read(length);
    const key = deriveId(this.builder.start.id, this.#before, rollout.line);
    this.#before = key;
    const held = rollout.type === "response_item" && this.#addItem(rollout, key, at, length);
    const kind = held ? null : this.#readOther(rollout, key, at);
    const { line, payload } = rollout;
    const source = held ? { ...line, payload: without(payload, "content", "output", "arguments") } : line;
    this.builder.keep({ key, source, at, messageId: this.#place.id, kind });
    this.builder.activeLeafId = this.#place.id ?? undefined;
  }

  /** Reads an item of the conversation. False for one that is none of a message. */
  #addItem({ payload, line }: RolloutLine, key: string, at: Position, length: number): boolean {
    if (payload.type === "message") {
      this.#addMessage(payload, line, key, at, length);
      return true;
    }
    if (isOutput(payload)) {
      const caller = this.builder.answer(payload.call_id, fieldsOfOutput(payload), length);
      this.#answer = undefined;
      if (caller !== null) addSource(caller, "codex", key);
      // A result whose call is not there is kept, but not as something that a model is told.
      else this.#append("assistant", [{ type: KEPT, data: payload }], line, key, at, length);
      return true;
    }
    const part = partOfItem(payload);
    if (part !== null) this.#addToAnswer([part], line, key, at, length);
    return part !== null;
  }

  #addMessage(payload: JsonObject, line: JsonObject, key: string, at: Position, length: number): void {
    const parts = partsOfContent(payload.content);
    if (payload.role === "assistant") {
      this.#addToAnswer(parts, line, key, at, length);
      return;
    }
    this.#answer = undefined;
    if (payload.role === "user" && !isContext(parts)) this.#beginTurn();
    this.#append(payload.role === "user" ? "user" : "system", parts, line, key, at, length);
  }

  #addToAnswer(parts: SessionMessagePart[], line: JsonObject, key: string, at: Position, length: number): void {
    const open = this.builder.openMessage(this.#answer);
    if (open === undefined) {
      this.#append("assistant", parts, line, key, at, length);
      this.#answer = key;
    } else {
      addSource(open, "codex", key);
      this.builder.extend(open, parts, length);
    }
  }

  #append(
    role: string,
    parts: SessionMessagePart[],
    line: JsonObject,
    key: string,
    at: Position,
    length: number,
  ): void {
    const createdAt = timeOf(line);
    const { model } = this.builder;
    const message: SessionMessage = {
      id: key,
      role,
      parts,
      ...(createdAt === undefined ? {} : { createdAt }),
      metadata: { ...(role === "assistant" && model !== undefined ? { model } : {}), codex: { sources: [key] } },
    };
    this.#place = this.builder.addMessage(message, this.#place, at, length);
  }

  /** Reads a line that is no item. Gives what a report counts it as; null for what is understood. */
  #readOther({ type, payload, line }: RolloutLine, key: string, at: Position): string | null {
    const kind = type === "event_msg" || type === "response_item" ? String(payload.type) : type;
    if (type === "session_meta") return null;
    if (type === "turn_context") {
      this.builder.model = nameOf(payload.model) ?? this.builder.model;
      this.builder.describe(metadataOfFolder(payload.cwd));
      return null;
    }
    if (type === "compacted") return this.#compact(payload, line, key, at);
    if (type !== "event_msg") return kind;
    if (kind === "thread_rolled_back") this.#rollBack(payload.num_turns, at);
    if (kind === "token_count") this.#usage.count(payload.info, timeOf(line));
    if (kind === "thread_name_updated") this.builder.title(payload.thread_name);
    return READ.includes(kind) ? null : kind;
  }

  #beginTurn(): void {
    this.#turns.push(this.#place);
    if (this.#turns.length >= 2 * TURNS) this.#turns = this.#turns.slice(TURNS);
  }

  #rollBack(turns: unknown, at: Position): void {
    if (!Number.isSafeInteger(turns) || Number(turns) < 1) return;
    const kept = this.#turns.length - Number(turns);
    const first = this.#turns[0];
    if (kept < 0 && first !== undefined && first.id !== null)
      this.builder.skip(at, `it rolls back more than ${TURNS} turns; what follows is attached as if it were fewer`);
    this.#place = this.#turns[Math.max(0, kept)] ?? this.#place;
    this.#turns = this.#turns.slice(0, Math.max(0, kept));
    this.#answer = undefined;
  }

  #compact({ message, replacement_history: history }: JsonObject, line: JsonObject, key: string, at: Position): null {
    const last: unknown = Array.isArray(history) ? history.at(-1) : undefined;
    const summary =
      typeof message === "string" && message !== "" ? message : textOf(isJsonObject(last) ? last.content : null);
    this.#answer = undefined;
    if (summary === "" || this.#place.id === null) {
      this.builder.skip(
        at,
        "the compaction has no readable summary, or covers no message; it is kept beside its message only",
      );
    } else {
      this.#place = this.builder.summarise(key, this.#place, at, { id: key, summary, createdAt: timeOf(line) });
    }
    return null;
  }
}

/** True for what Codex tells the model before the user's words. */
function isContext(parts: readonly SessionMessagePart[]): boolean {
  const [first] = parts;
  return typeof first?.text === "string" && /^\s*(<|# AGENTS\.md)/.test(first.text);
}

function textOf(content: unknown): string {
  return partsOfContent(content)
    .map(({ text }) => text ?? "")
    .join("\n");
}

function timeOf({ timestamp }: JsonObject): string | undefined {
  return (typeof timestamp === "string" ? isoTime(timestamp) : null) ?? undefined;
}

function parentOf({ forked_from_id: forked, parent_thread_id: caller, source }: JsonObject): string | undefined {
  const agent = isJsonObject(source) && isJsonObject(source.subagent) ? source.subagent.thread_spawn : undefined;
  return nameOf(caller) ?? nameOf(isJsonObject(agent) ? agent.parent_thread_id : undefined) ?? nameOf(forked);
}
