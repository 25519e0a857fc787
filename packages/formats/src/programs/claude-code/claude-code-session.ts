// One reader of one kind of file, from its lines to a session.
import {
  isJsonObject,
  type JsonObject,
  metadataOfFolder,
  nameOf,
  quote,
  Recent,
  type SessionMessage,
  type SessionMessagePart,
} from "@stemma/model";
import { keyOfLine } from "../../identity.js";
import { Lineage } from "../../lineage.js";
import { without } from "../../origin.js";
import { addSource, type Place, SessionBuilder, START } from "../../session-builder.js";
import { findTime, type ParsedSession, type Position, tokensOf, type Usage } from "../../stemma/session-file.js";
import {
  countUnknown,
  isResultBlock,
  outputOfBlock,
  partsOfBlocks,
  partsOfMessage,
  rawPart,
} from "../claude/claude.js";

/** Answers of the model that are known by their id, so that their further lines find them. */
const ANSWERS = 1000;

interface Entry {
  readonly line: JsonObject;
  readonly uuid: string;
  readonly at: Position;
  readonly length: number;
}

/**
 * One conversation of Claude Code, line by line. The lines of one answer become one message, and the results of its tools
 * parts of it. Every line is kept beside the messages, less what they hold.
 */
export class ClaudeCodeSession {
  readonly builder: SessionBuilder;
  readonly #answers = new Recent<string>(ANSWERS);
  readonly #usage: UsageOfAnswers;
  readonly #summaries: Summaries;
  readonly #lineage = new Lineage<Place>(START);
  #repeated: { at: Position; lines: number } | null = null;
  #isBegun = false;
  #isNamed = false;

  constructor(
    readonly id: string,
    readonly parentSessionId?: string,
  ) {
    this.builder = new SessionBuilder({ id, source: "claude-code", parentSessionId });
    this.#usage = new UsageOfAnswers(this.builder);
    this.#summaries = new Summaries(this.builder);
  }

  get isAgent(): boolean {
    return this.parentSessionId !== undefined;
  }

  /** Forgets its messages, once they were given away. A call that waits for its result is not completed then. */
  forget(): void {
    this.builder.forget();
    this.#answers.clear();
    this.#summaries.forget();
    this.#usage.forget();
  }

  piece(isLast: boolean): ParsedSession {
    if (this.#repeated !== null) {
      const { at, lines } = this.#repeated;
      this.builder.skip(at, `from here on, ${lines} lines repeat the uuid of an earlier one; the first is preserved`);
      this.#repeated = null;
    }
    return this.builder.piece(isLast);
  }

  add(line: JsonObject, at: Position, length: number): void {
    const { type } = line;
    this.builder.read(length);
    this.builder.describe(metadataOfFolder(line.cwd));
    if (!isKnown(line)) this.builder.notUnderstood(at, `a line of the type ${quote(String(type))}`);
    const uuid =
      typeof line.uuid === "string" && line.uuid !== "" ? line.uuid : isSpoken(line) ? keyOfLine(line) : null;
    if (uuid === null) {
      const messageId = this.builder.activeLeafId ?? null;
      this.builder.keep(keyOfLine(line), line, at, messageId, String(type));
      this.#giveName(line);
      return;
    }
    if (this.builder.places.get(uuid) !== undefined) {
      this.#repeated ??= { at, lines: 0 };
      this.#repeated.lines += 1;
      return;
    }
    const place = this.#read({ line, uuid, at, length });
    this.builder.places.set(uuid, place);
    this.#lineage.last = place;
    this.#isBegun = true;
    if (isSpoken(line)) this.builder.activeLeafId = place.id ?? undefined;
  }

  // What its user called it stays its name, whatever a model calls it later.
  #giveName({ customTitle, aiTitle, summary }: JsonObject): void {
    if (typeof customTitle === "string") this.#isNamed = true;
    this.builder.names.give(this.#isNamed ? customTitle : (aiTitle ?? summary));
  }

  /** Reads a line. What follows it hangs below what this gives. */
  #read(entry: Entry): Place {
    const { line, uuid, at } = entry;
    if (line.type === "system" && line.subtype === "compact_boundary") {
      const above = this.#above(line.logicalParentUuid ?? line.parentUuid);
      this.#summaries.begin(uuid, { line, at, above });
      return this.#keep(entry, above, null);
    }
    const above = this.#above(line.parentUuid);
    if (line.isCompactSummary === true) {
      this.#keep(entry, above, null, "whole");
      return this.#summaries.end(line, uuid, at) ?? above;
    }
    if (!isSpoken(line)) return this.#keep(entry, above, line.type === "user" ? "meta" : String(line.type));
    return line.type === "user" ? this.#addUser(entry, above) : this.#addAnswer(entry, above);
  }

  #above(parentUuid: unknown): Place {
    const { places, last } = this.builder;
    const { place, isMissing } = this.#lineage.above(parentUuid, (uuid) => places.get(uuid));
    // A sub-agent's chain may begin below a line of the session that called it.
    if (!isMissing || (this.isAgent && !this.#isBegun)) return place;
    // The importer may find it in the store; else it attaches what follows to the message before it.
    return { id: String(parentUuid), root: last.root };
  }

  #addUser(entry: Entry, parent: Place): Place {
    const { line, uuid, length } = entry;
    const message = isJsonObject(line.message) ? line.message : {};
    let above = parent;
    const rest: unknown[] = [];
    for (const block of Array.isArray(message.content) ? message.content : [message.content ?? message]) {
      const caller = isResultBlock(block)
        ? this.builder.messages.answer(block.tool_use_id, outputOfBlock(block), length)
        : null;
      if (caller === null) rest.push(block);
      else {
        addSource(caller, "claudeCode", uuid);
        above = this.#placeOf(caller, parent);
      }
    }
    if (rest.length === 0) return this.#keep(entry, above, null);
    // A result whose call is not there is kept, but not as something that a model is told.
    const role = rest.every(isResultBlock) ? "assistant" : "user";
    const parts = rest.flatMap((block) =>
      isResultBlock(block) ? rawPart(block) : partsOfBlocks(typeof block === "string" ? block : [block]),
    );
    return this.#addMessage(entry, above, role, parts);
  }

  #addAnswer(entry: Entry, above: Place): Place {
    const { line, uuid, length } = entry;
    const message = isJsonObject(line.message) ? line.message : {};
    const answerId = typeof message.id === "string" ? message.id : uuid;
    this.#usage.count(answerId, line, message);
    const parts = partsOfMessage(message);
    const open = this.builder.messages.find(this.#answers.get(answerId));
    if (open === undefined) {
      this.#answers.set(answerId, uuid);
      return this.#addMessage(entry, above, "assistant", parts);
    }
    addSource(open, "claudeCode", uuid);
    this.builder.messages.extend(open, parts, length);
    return this.#keep(entry, this.#placeOf(open, above), countUnknown(parts) > 0 ? "content block" : null);
  }

  #addMessage(entry: Entry, above: Place, role: string, parts: SessionMessagePart[]): Place {
    const { line, uuid, at, length } = entry;
    const model = isJsonObject(line.message) ? nameOf(line.message.model) : undefined;
    if (model !== undefined && model !== "<synthetic>") this.builder.model = model;
    const metadata = { ...(model === undefined ? {} : { model }), claudeCode: { sources: [uuid] } };
    const read = { id: uuid, role, parts, createdAt: findTime(line.timestamp), metadata };
    const place = this.builder.addMessage(read, above, at, length);
    return this.#keep(entry, place, countUnknown(parts) > 0 ? "content block" : null);
  }

  #placeOf(message: SessionMessage, above: Place): Place {
    return this.builder.places.get(message.id) ?? { id: message.id, root: above.root };
  }

  /** Keeps a line beside the message that it stands at, less what that holds. */
  #keep({ line, uuid, at }: Entry, place: Place, kind: string | null, much?: "whole"): Place {
    const held = much === undefined && kind !== "meta" && isSpoken(line) && isJsonObject(line.message);
    const source = held ? { ...line, message: without(line.message as JsonObject, "content") } : line;
    this.builder.keep(uuid, source, at, place.id, kind);
    return place;
  }
}

/** Types of lines that say something beside the conversation. */
const BESIDE = [
  "summary",
  "system",
  "attachment",
  "progress",
  "file-history-snapshot",
  "queue-operation",
  "custom-title",
  "ai-title",
  "agent-name",
  "agent-color",
  "agent-setting",
  "last-prompt",
  "mode",
  "permission-mode",
  "tag",
  "pr-link",
  "task-summary",
  "worktree-state",
  "content-replacement",
  "attribution-snapshot",
  "result",
  "stream_event",
  "rate_limit_event",
  "tool_progress",
  "tool_use_summary",
  "auth_status",
];

/** True for a line that is read, or that is known to be none of the conversation. */
function isKnown(line: JsonObject): boolean {
  const { type, message, isMeta } = line;
  if (type === "user" || type === "assistant") return isJsonObject(message) || isMeta === true;
  return BESIDE.includes(String(type));
}

/** True for what the user or the model said: what Claude Code tells the model beside it is kept, but is no message. */
function isSpoken({ type, isMeta, message }: JsonObject): boolean {
  return (type === "user" || type === "assistant") && isMeta !== true && isJsonObject(message);
}

const UNKNOWN = "it is not known where the summarised messages begin; the summary is kept beside its message only";
const EMPTY = "the summary has no text; it is kept beside its message only";
const MISSING = "the summary does not follow a boundary; it stands for the messages before it";

/** Boundaries that are known by their id. */
const BOUNDARIES = 1000;

/** A line that says that what stands above is summarised; the summary is the next line. */
interface Boundary {
  line: JsonObject;
  at: Position;
  above: Place;
}

/** The summaries of a conversation: each consists of a boundary, and the line behind it, which has the text. */
class Summaries {
  readonly #boundaries = new Recent<Boundary>(BOUNDARIES);

  constructor(private readonly builder: SessionBuilder) {}

  forget(): void {
    this.#boundaries.clear();
  }

  begin(boundaryId: string, boundary: Boundary): void {
    this.#boundaries.set(boundaryId, boundary);
  }

  /** Lays a summary over what stands above its boundary. Gives the place behind it; null where nothing of the path moves. */
  end(line: JsonObject, id: string, at: Position): Place | null {
    const { builder } = this;
    const boundaryId = String(line.parentUuid);
    const compaction = { id, summary: textOf(line), createdAt: findTime(line.timestamp) };
    if (compaction.summary === "") {
      builder.skip(at, EMPTY);
      return null;
    }
    const boundary = this.#boundaries.get(boundaryId) ?? this.#missing(line, at);
    const { above } = boundary;
    // What was left in place stands behind the summary, which ends above it.
    const preserved = this.#firstPreserved(boundary.line);
    if (preserved === null && (above.id === null || above.root !== null)) {
      const markId = typeof line.parentUuid === "string" ? boundaryId : `${id}/boundary`;
      const place = builder.summarise(markId, above, boundary.at, compaction);
      builder.places.set(boundaryId, place);
      return place;
    }
    const [from, to] = [preserved?.root ?? null, preserved?.above ?? null];
    if (from !== null && to !== null) builder.addCompaction({ ...compaction, fromMessageId: from, toMessageId: to });
    else builder.skip(at, UNKNOWN);
    return null;
  }

  /** In place of a boundary that is not there: the summary stands for what was said before it. */
  #missing(line: JsonObject, at: Position): Boundary {
    this.builder.skip(at, MISSING);
    return { line, at, above: this.builder.last };
  }

  /** The message above the first one that a compaction left in place; null when it left none. */
  #firstPreserved({ compactMetadata }: JsonObject): { above: string | null; root: string | null } | null {
    if (!isJsonObject(compactMetadata)) return null;
    const { preservedMessages, preservedSegment } = compactMetadata;
    const uuids = isJsonObject(preservedMessages) ? preservedMessages.uuids : undefined;
    const head = isJsonObject(preservedSegment) ? preservedSegment.headUuid : undefined;
    const first = Array.isArray(uuids) ? uuids[0] : head;
    const { id, root } = (typeof first === "string" ? this.builder.places.get(first) : undefined) ?? {
      id: null,
      root: null,
    };
    return id === null ? null : { above: this.builder.messages.parentOf(id), root };
  }
}

function textOf({ message }: JsonObject): string {
  const parts = partsOfBlocks(isJsonObject(message) ? message.content : null);
  return parts.map(({ text }) => (typeof text === "string" ? text : "")).join("\n");
}

/** Counts what answers used. Each line of an answer tells it anew, the last one rightly. */
class UsageOfAnswers {
  readonly #counted = new Recent<Usage>(ANSWERS);

  constructor(private readonly builder: SessionBuilder) {}

  /** Forgets the answers: no further line of them comes. */
  forget(): void {
    this.#counted.clear();
  }

  count(answerId: string, line: JsonObject, { usage, model }: JsonObject): void {
    const name = nameOf(model);
    if (!isJsonObject(usage) || name === undefined || name === "<synthetic>") return;
    const before = this.#counted.get(answerId);
    const { input_tokens, cache_creation_input_tokens, cache_read_input_tokens, output_tokens } = usage;
    const now: Usage = {
      inputTokens: tokensOf(input_tokens) + tokensOf(cache_creation_input_tokens) + tokensOf(cache_read_input_tokens),
      outputTokens: tokensOf(output_tokens),
      cost: 0,
    };
    this.#counted.set(answerId, now);
    const more = {
      inputTokens: now.inputTokens - (before?.inputTokens ?? 0),
      outputTokens: now.outputTokens - (before?.outputTokens ?? 0),
      cost: 0,
    };
    const day = findTime(line.timestamp)?.slice(0, 10);
    this.builder.usage.add(day, name, more, before === undefined ? 1 : 0);
  }
}
