import type { SessionMessagePart } from "@stemma/model";
import { isJsonObject, type JsonObject, metadataOfFolder, nameOf, quote } from "@stemma/model";
import { deriveId } from "../../identity.js";
import { readLines } from "../../json-items.js";
import { without } from "../../origin.js";
import { addSource, type Place, SessionBuilder, START } from "../../session-builder.js";
import {
  type FileInfo,
  findTime,
  type ImportFormat,
  type ParsedSession,
  type Position,
  type Skipped,
  tokensOf,
} from "../../stemma/session-file.js";
import {
  fieldsOfOutput,
  findLine,
  isOutput,
  parseLine,
  partOfItem,
  partsOfContent,
  RAW,
  type RolloutLine,
} from "./codex-items.js";
/** Rollouts of the Codex command line. A file is one session; its id is the one that its first line gives. */
export const codex: ImportFormat = {
  name: "codex",
  about: "Codex rollouts (JSONL): a session_meta, then an item or an event per line",
  recognises: (first) => isJsonObject(first) && findLine(first)?.type === "session_meta",
  // A file that begins later: with an item as the first versions wrote them.
  alsoReads: (first) => isJsonObject(first) && typeof first.type === "string" && typeof first.role === "string",
  async *read(items, file) {
    let session: CodexSession | null = null;
    const early: Skipped[] = [];
    const skip = (at: Position, why: string): void => {
      if (session === null) early.push({ ...at, why });
      else session.builder.skip(at, why);
    };
    for await (const { line, at, length } of readLines(items, parseLine, skip)) {
      if (session === null) {
        session = new CodexSession(line, file);
        for (const { why, ...place } of early) session.builder.skip(place, why);
      }
      session.add(line, at, length);
      if (session.builder.isFull) yield session.piece(false);
    }
    if (session !== null) yield session.piece(true);
  },
};

/** Events that say again what an item says, or that are read here. */
const READ = [
  "user_message",
  "agent_message",
  "agent_reasoning",
  "token_count",
  "thread_rolled_back",
  "context_compacted",
];

/** Events that say again what an item says in full. */
const MIRRORS = ["user_message", "agent_message"];

/** Lines and items that are known to be none of the conversation. */
const BESIDE = ["state", "ghost_snapshot", "compaction", "compaction_summary", "context_compaction", "other"];

interface Entry extends RolloutLine {
  readonly key: string;
  readonly at: Position;
  readonly length: number;
}

/**
 * One session of Codex, line by line. What the model says, thinks and calls before the next result or user's message is
 * one message. A rollback leads back to where the conversation stood before the turns it names; what follows is a branch.
 */
class CodexSession {
  readonly builder: SessionBuilder;
  readonly #usage: UsageOfTurns;
  readonly #turns: TurnPlaces;
  #place: Place = START;
  /** The key of the line before: it makes the keys of equal lines differ. */
  #before: string | null = null;
  /** The model's message that further items go into. */
  #answer: string | undefined;
  /** Where an event repeats a message before there is any. */
  #mirror: Position | undefined;

  constructor({ payload }: RolloutLine, { stem }: FileInfo) {
    const id = typeof payload.id === "string" && payload.id !== "" ? payload.id : stem;
    this.builder = new SessionBuilder({ id, source: "codex", parentSessionId: parentOf(payload) });
    this.builder.describe(metadataOfFolder(payload.cwd));
    this.#usage = new UsageOfTurns(this.builder);
    this.#turns = new TurnPlaces(this.builder);
  }

  add({ type, payload, line }: RolloutLine, at: Position, length: number): void {
    this.builder.read(length);
    const key = deriveId(this.builder.start.id, this.#before, line);
    this.#before = key;
    const entry = { type, payload, line, key, at, length };
    const held = type === "response_item" && this.#addItem(entry);
    const kind = held ? null : this.#readOther(entry);
    const source = held ? { ...line, payload: without(payload, "content", "output", "arguments") } : line;
    this.builder.keep(key, source, at, this.#place.id, kind);
    this.builder.activeLeafId = this.#place.id ?? undefined;
  }

  piece(isLast: boolean): ParsedSession {
    if (isLast && this.#mirror !== undefined && this.builder.last.id === null)
      this.builder.notUnderstood(this.#mirror, "an event that repeats a message; the message is not in the file");
    return this.builder.piece(isLast);
  }

  /** Reads an item of the conversation. False for one that is none of a message. */
  #addItem(entry: Entry): boolean {
    const { payload, key, length } = entry;
    // An item with a role is a message, also where it does not say so.
    if (payload.type === "message" || (payload.type === undefined && typeof payload.role === "string")) {
      this.#addMessage(entry);
      return true;
    }
    if (isOutput(payload)) {
      const caller = this.builder.messages.answer(payload.call_id, fieldsOfOutput(payload), length);
      this.#answer = undefined;
      if (caller !== null) addSource(caller, "codex", key);
      // A result whose call is not there is kept, but not as something that a model is told.
      else this.#append("assistant", [{ type: RAW, data: payload }], entry);
      return true;
    }
    const part = partOfItem(payload);
    if (part !== null) this.#addToAnswer([part], entry);
    return part !== null;
  }

  #addMessage(entry: Entry): void {
    const { payload } = entry;
    const parts = partsOfContent(payload.content);
    if (payload.role === "assistant") {
      this.#addToAnswer(parts, entry);
      return;
    }
    this.#answer = undefined;
    if (payload.role === "user" && !isContext(parts)) this.#turns.begin(this.#place);
    this.#append(payload.role === "user" ? "user" : "system", parts, entry);
  }

  #addToAnswer(parts: SessionMessagePart[], entry: Entry): void {
    const { key, length } = entry;
    const open = this.builder.messages.find(this.#answer);
    if (open === undefined) {
      this.#append("assistant", parts, entry);
      this.#answer = key;
    } else {
      addSource(open, "codex", key);
      this.builder.messages.extend(open, parts, length);
    }
  }

  #append(role: string, parts: SessionMessagePart[], { line, key, at, length }: Entry): void {
    const model = role === "assistant" ? this.builder.model : undefined;
    const metadata = { codex: { sources: [key] } };
    const read = { id: key, role, parts, createdAt: findTime(line.timestamp), model, metadata };
    this.#place = this.builder.addMessage(read, this.#place, at, length);
  }

  /** Reads a line that is no item. Gives what a report counts it as; null for what is understood. */
  #readOther(entry: Entry): string | null {
    const { type, payload, line, at } = entry;
    const kind =
      type === "event_msg" || type === "response_item" ? String(payload.type ?? "item without a type") : type;
    if (type === "session_meta") return null;
    if (type === "turn_context") {
      this.builder.model = nameOf(payload.model) ?? this.builder.model;
      this.builder.describe(metadataOfFolder(payload.cwd));
      return null;
    }
    if (type === "compacted") return this.#compact(entry);
    if (type !== "event_msg") {
      if (!BESIDE.includes(kind)) this.builder.notUnderstood(at, `an item of the type ${quote(kind)}`);
      return kind;
    }
    if (MIRRORS.includes(kind) && this.builder.last.id === null) this.#mirror ??= at;
    if (kind === "thread_rolled_back") {
      const place = this.#turns.rollBack(payload.num_turns, at, this.#place);
      if (place !== null) this.#goTo(place);
    }
    if (kind === "token_count") this.#usage.count(payload.info, findTime(line.timestamp));
    if (kind === "thread_name_updated") this.builder.names.give(payload.thread_name);
    return READ.includes(kind) ? null : kind;
  }

  // What the model says next is a message of its own.
  #goTo(place: Place): void {
    this.#place = place;
    this.#answer = undefined;
  }

  #compact({ payload, line, key, at }: Entry): null {
    const { message, replacement_history: history } = payload;
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
      this.#place = this.builder.summarise(key, this.#place, at, {
        id: key,
        summary,
        createdAt: findTime(line.timestamp),
      });
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

function parentOf({ forked_from_id: forked, parent_thread_id: caller, source }: JsonObject): string | undefined {
  const agent = isJsonObject(source) && isJsonObject(source.subagent) ? source.subagent.thread_spawn : undefined;
  return nameOf(caller) ?? nameOf(isJsonObject(agent) ? agent.parent_thread_id : undefined) ?? nameOf(forked);
}

/** Counts what turns used: each event tells the sum so far and the last request, some of them twice. */
class UsageOfTurns {
  #total = "";

  constructor(private readonly builder: SessionBuilder) {}

  count(info: unknown, time: string | undefined): void {
    if (!isJsonObject(info) || !isJsonObject(info.last_token_usage)) return;
    const total = JSON.stringify(info.total_token_usage ?? null);
    if (total === this.#total) return;
    this.#total = total;
    const { input_tokens, output_tokens }: JsonObject = info.last_token_usage;
    const used = { inputTokens: tokensOf(input_tokens), outputTokens: tokensOf(output_tokens), cost: 0 };
    this.builder.usage.add(time?.slice(0, 10), this.builder.model ?? "", used, 1);
  }
}

/** Turns that a rollback can lead back to. */
const TURNS = 10_000;

/** The places above the turns of a path, of a long one those of the last turns. */
class TurnPlaces {
  #places: Place[] = [];

  constructor(private readonly builder: SessionBuilder) {}

  begin(place: Place): void {
    this.#places.push(place);
    if (this.#places.length >= 2 * TURNS) this.#places = this.#places.slice(TURNS);
  }

  /** The place above the last `turns` turns, or `here`, the present one, where none is known. Null for what is no number of turns. */
  rollBack(turns: unknown, at: Position, here: Place): Place | null {
    if (!Number.isSafeInteger(turns) || Number(turns) < 1) return null;
    const remaining = this.#places.length - Number(turns);
    const [first] = this.#places;
    if (remaining < 0 && first !== undefined && first.id !== null)
      this.builder.skip(at, `it rolls back more than ${TURNS} turns; what follows is attached as if it were fewer`);
    const place = this.#places[Math.max(0, remaining)] ?? here;
    this.#places = this.#places.slice(0, Math.max(0, remaining));
    return place;
  }
}
