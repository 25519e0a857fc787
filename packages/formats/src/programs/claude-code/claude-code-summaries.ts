import { isJsonObject, type JsonObject, Recent } from "@stemma/model";
import { findTime } from "../../found.js";
import type { Place, SessionBuilder } from "../../session-builder.js";
import type { Position } from "../../stemma/session-file.js";
import { partsOfBlocks } from "../claude/claude-content.js";

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
export class Summaries {
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
    const kept = this.#firstKept(boundary.line);
    if (kept === null && (above.id === null || above.root !== null)) {
      const markId = typeof line.parentUuid === "string" ? boundaryId : `${id}/boundary`;
      const place = builder.summarise(markId, above, boundary.at, compaction);
      builder.places.set(boundaryId, place);
      return place;
    }
    const [from, to] = [kept?.root ?? null, kept?.above ?? null];
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
  #firstKept({ compactMetadata }: JsonObject): { above: string | null; root: string | null } | null {
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
