import { metadataOfFolder } from "../../model/folder-metadata.js";
import { isJsonObject, type JsonObject } from "../../model/json-object.js";
import type { SessionMessage, SessionMessagePart } from "../../model/message.js";
import { nameOf } from "../../model/storable-name.js";
import { isoTime } from "../../model/text.js";
import { Recent } from "../../recent.js";
import { countUnknown, isResultBlock, keptPart, outputOfBlock, partsOfBlocks } from "../claude/claude-content.js";
import { keyOfLine } from "../identity.js";
import { without } from "../origin.js";
import { addSource, type Place, SessionBuilder, START } from "../session-builder.js";
import type { ParsedSession, Position } from "../session-file.js";
import { UsageOfAnswers } from "./claude-usage.js";

/** Answers of the model that are known by their id, so that their further lines find them. */
const ANSWERS = 1000;

/** A line that says that what stands above is summarised; the summary is the next line. */
interface Boundary {
  line: JsonObject;
  at: Position;
  above: Place;
}

/**
 * One conversation of Claude Code, line by line. The lines of one answer become one message, and the results of its tools
 * parts of it. Every line is kept beside the messages, less what they hold.
 */
export class ClaudeCodeSession {
  /** What was read so far; its pieces are given away by `piece`. */
  readonly builder: SessionBuilder;
  readonly #answers = new Recent<string>(ANSWERS);
  readonly #usage: UsageOfAnswers;
  readonly #boundaries = new Recent<Boundary>(ANSWERS);
  #repeated: { at: Position; lines: number } | null = null;
  #isBegun = false;

  constructor(
    readonly id: string,
    readonly parentSessionId?: string,
  ) {
    this.builder = new SessionBuilder({ id, source: "claude-code", parentSessionId });
    this.#usage = new UsageOfAnswers(this.builder);
  }

  /** True for a session of a sub-agent. */
  get isAgent(): boolean {
    return this.parentSessionId !== undefined;
  }

  /** Forgets its messages, once they were given away. A call that waits for its result is not completed then. */
  forget(): void {
    this.builder.forget();
    this.#answers.clear();
    this.#boundaries.clear();
    this.#usage.forget();
  }

  piece(isLast: boolean): ParsedSession {
    if (this.#repeated !== null) {
      const { at, lines } = this.#repeated;
      this.builder.skip(at, `from here on, ${lines} lines repeat the uuid of an earlier one; the first is kept`);
      this.#repeated = null;
    }
    return this.builder.piece(isLast);
  }

  add(line: JsonObject, at: Position, length: number): void {
    const { uuid, type } = line;
    this.builder.read(length);
    this.builder.describe(metadataOfFolder(line.cwd));
    if (typeof uuid !== "string" || uuid === "") {
      const messageId = this.builder.activeLeafId ?? null;
      this.builder.keep({ key: keyOfLine(line), source: line, at, messageId, kind: String(type) });
      this.builder.title(line.customTitle ?? line.aiTitle ?? line.summary);
      return;
    }
    if (this.builder.places.get(uuid) !== undefined) {
      this.#repeated ??= { at, lines: 0 };
      this.#repeated.lines += 1;
      return;
    }
    const place = this.#read(line, uuid, at, length);
    this.builder.places.set(uuid, place);
    this.#isBegun = true;
    if (isSpoken(line)) this.builder.activeLeafId = place.id ?? undefined;
  }

  /** Reads a line. What follows it hangs below what this gives. */
  #read(line: JsonObject, uuid: string, at: Position, length: number): Place {
    if (line.type === "system" && line.subtype === "compact_boundary") return this.#addBoundary(line, uuid, at);
    const above = this.#above(line);
    if (line.isCompactSummary === true) return this.#addSummary(line, uuid, at, above);
    if (!isSpoken(line)) {
      this.#keep(line, uuid, at, above, line.type === "user" ? "meta" : String(line.type));
      return above;
    }
    return line.type === "user"
      ? this.#addUser(line, uuid, at, above, length)
      : this.#addAnswer(line, uuid, at, above, length);
  }

  #above({ parentUuid }: JsonObject): Place {
    if (typeof parentUuid !== "string") return START;
    // A sub-agent's chain may begin below a line of the session that called it.
    const isElsewhere = this.isAgent && !this.#isBegun;
    return this.builder.places.get(parentUuid) ?? (isElsewhere ? START : { id: parentUuid, root: null });
  }

  #addUser(line: JsonObject, uuid: string, at: Position, parent: Place, length: number): Place {
    const content = isJsonObject(line.message) ? line.message.content : null;
    let above = parent;
    const rest: unknown[] = [];
    for (const block of Array.isArray(content) ? content : [content]) {
      const caller = isResultBlock(block) ? this.builder.answer(block.tool_use_id, outputOfBlock(block), length) : null;
      if (caller === null) rest.push(block);
      else {
        addSource(caller, "claudeCode", uuid);
        above = this.#placeOf(caller, parent);
      }
    }
    if (rest.length === 0) {
      this.#keep(line, uuid, at, above, null);
      return above;
    }
    // A result whose call is not there is kept, but not as something that a model is told.
    const role = rest.every(isResultBlock) ? "assistant" : "user";
    const parts = rest.flatMap((block) =>
      isResultBlock(block) ? keptPart(block) : partsOfBlocks(typeof block === "string" ? block : [block]),
    );
    return this.#addMessage(line, uuid, at, above, role, parts, length);
  }

  #addAnswer(line: JsonObject, uuid: string, at: Position, above: Place, length: number): Place {
    const message = isJsonObject(line.message) ? line.message : {};
    const answerId = typeof message.id === "string" ? message.id : uuid;
    this.#usage.count(answerId, line, message);
    const parts = partsOfBlocks(message.content);
    const open = this.builder.openMessage(this.#answers.get(answerId));
    if (open === undefined) {
      this.#answers.set(answerId, uuid);
      return this.#addMessage(line, uuid, at, above, "assistant", parts, length);
    }
    addSource(open, "claudeCode", uuid);
    this.builder.extend(open, parts, length);
    const place = this.#placeOf(open, above);
    this.#keep(line, uuid, at, place, countUnknown(parts) > 0 ? "content block" : null);
    return place;
  }

  #addMessage(
    line: JsonObject,
    uuid: string,
    at: Position,
    above: Place,
    role: string,
    parts: SessionMessagePart[],
    length: number,
  ): Place {
    const model = isJsonObject(line.message) ? nameOf(line.message.model) : undefined;
    if (model !== undefined && model !== "<synthetic>") this.builder.model = model;
    const createdAt = typeof line.timestamp === "string" ? isoTime(line.timestamp) : null;
    const message: SessionMessage = {
      id: uuid,
      role,
      parts,
      ...(createdAt === null ? {} : { createdAt }),
      metadata: { ...(model === undefined ? {} : { model }), claudeCode: { sources: [uuid] } },
    };
    const place = this.builder.addMessage(message, above, at, length);
    this.#keep(line, uuid, at, place, countUnknown(parts) > 0 ? "content block" : null);
    return place;
  }

  #addBoundary(line: JsonObject, uuid: string, at: Position): Place {
    const parent = line.logicalParentUuid ?? line.parentUuid;
    const above = typeof parent === "string" ? this.#above({ parentUuid: parent }) : START;
    this.#boundaries.set(uuid, { line, at, above });
    this.#keep(line, uuid, at, above, null);
    return above;
  }

  #addSummary(line: JsonObject, uuid: string, at: Position, above: Place): Place {
    // What was left in place stands behind the summary, which ends above it.
    const summary = textOf(line);
    const boundary = this.#boundaries.get(String(line.parentUuid));
    this.#keep(line, uuid, at, above, null, "whole");
    if (summary === "" || boundary === undefined) {
      this.builder.skip(
        at,
        "the summary has no text, or does not follow a boundary; it is kept beside its message only",
      );
      return above;
    }
    const createdAt = isoTime(typeof line.timestamp === "string" ? line.timestamp : undefined) ?? undefined;
    const kept = this.#firstKept(boundary.line);
    if (kept === null) {
      if (boundary.above.id === null || boundary.above.root !== null) {
        const place = this.builder.summarise(String(line.parentUuid), boundary.above, boundary.at, {
          id: uuid,
          summary,
          createdAt,
        });
        this.builder.places.set(String(line.parentUuid), place);
        return place;
      }
    } else if (kept.root !== null && kept.above !== null) {
      this.builder.addCompaction({ id: uuid, summary, fromMessageId: kept.root, toMessageId: kept.above, createdAt });
      return above;
    }
    this.builder.skip(
      at,
      "it is not known where the summarised messages begin; the summary is kept beside its message only",
    );
    return above;
  }

  /** The message above the first one that a compaction left in place; null when it left none. */
  #firstKept({ compactMetadata }: JsonObject): { above: string | null; root: string | null } | null {
    if (!isJsonObject(compactMetadata)) return null;
    const { preservedMessages, preservedSegment } = compactMetadata;
    const uuids = isJsonObject(preservedMessages) ? preservedMessages.uuids : undefined;
    const head = isJsonObject(preservedSegment) ? preservedSegment.headUuid : undefined;
    const first = Array.isArray(uuids) ? uuids[0] : head;
    const place = typeof first === "string" ? this.builder.places.get(first) : undefined;
    return place === undefined || place.id === null
      ? null
      : { above: this.builder.parentOf(place.id), root: place.root };
  }

  #placeOf(message: SessionMessage, above: Place): Place {
    return this.builder.places.get(message.id) ?? { id: message.id, root: above.root };
  }

  #keep(line: JsonObject, uuid: string, at: Position, place: Place, kind: string | null, much?: "whole"): void {
    const held = much === undefined && kind !== "meta" && isSpoken(line) && isJsonObject(line.message);
    const source = held ? { ...line, message: without(line.message as JsonObject, "content") } : line;
    this.builder.keep({ key: uuid, source, at, messageId: place.id, kind });
  }
}

/** True for what the user or the model said: what Claude Code tells the model beside it is kept, but is no message. */
function isSpoken({ type, isMeta, message }: JsonObject): boolean {
  return (type === "user" || type === "assistant") && isMeta !== true && isJsonObject(message);
}

function textOf({ message }: JsonObject): string {
  const parts = partsOfBlocks(isJsonObject(message) ? message.content : null);
  return parts.map(({ text }) => (typeof text === "string" ? text : "")).join("\n");
}
