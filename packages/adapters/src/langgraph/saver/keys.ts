import { invalid } from "@stemma/model";
import type { RecordScope } from "@stemma/store";
/** A thread, which is the session with the same id, and a namespace in it: "" for the graph, others for its subgraphs. */
export interface Place {
  readonly threadId: string;
  readonly namespace: string;
}

/** The fields of a runnable's configuration about checkpoints; any of them may be missing. */
export interface Configurable {
  readonly thread_id?: unknown;
  readonly checkpoint_ns?: unknown;
  readonly checkpoint_id?: unknown;
  readonly thread_ts?: unknown;
  readonly checkpoint_map?: Readonly<Record<string, string>> | undefined;
}

/** The labels of a thread's records. */
export const LABELS = {
  /** A checkpoint, by namespace and id. */
  checkpoints: "langgraph",
  /** The writes of a task, by namespace, checkpoint and task. */
  writes: "langgraph-writes",
  /** Values of channels, by namespace and a key of their own. */
  values: "langgraph-values",
  /** Which namespaces began under a checkpoint of the graph, by that checkpoint and namespace. */
  children: "langgraph-children",
  /** Which values the checkpoints had that were removed together, by namespace and a key of its own. */
  removed: "langgraph-removed",
} as const;

export const scopeOf = ({ threadId }: Pick<Place, "threadId">, label: keyof typeof LABELS): RecordScope => ({
  sessionId: threadId,
  label: LABELS[label],
});

/** A key of several names; a name with "/" in it is one name still. */
export function keyOf(...names: readonly string[]): string {
  return names.map(escapeName).join("/");
}

/** The names that a key was made of. */
export function namesOf(key: string): string[] {
  return key.split("/").map(readName);
}

/** The thread and namespace of a configuration. Errors: `INVALID_ARGUMENT` without a thread. */
export function placeOf(configurable: Configurable | undefined): Place {
  const threadId = configurable?.thread_id;
  if (typeof threadId !== "string" || threadId === "") {
    const message =
      'A checkpoint belongs to a thread: pass { configurable: { thread_id: "…" } } to invoke or stream, with a text that is not empty.';
    throw invalid(message);
  }
  return { threadId, namespace: textOr(configurable?.checkpoint_ns, "") };
}

/** The checkpoint that a configuration names; null for the latest one. */
export function checkpointIdOf(configurable: Configurable | undefined): string | null {
  const id = textOr(configurable?.checkpoint_id, "") || textOr(configurable?.thread_ts, "");
  return id === "" ? null : id;
}

/** The configuration that names a checkpoint. */
export function configOf({ threadId, namespace }: Place, checkpointId: string) {
  return { configurable: { thread_id: threadId, checkpoint_ns: namespace, checkpoint_id: checkpointId } };
}

function textOr(value: unknown, otherwise: string): string {
  return typeof value === "string" ? value : otherwise;
}

/** Characters that separate names in a key, that escape, or that no database keeps: NUL and halves of surrogate pairs. */
const ESCAPED = /[%/\0\ud800-\udfff]/gu;

/** A name as it stands in a key of several: any text, without "/". */
export function escapeName(name: string): string {
  return name.replace(ESCAPED, (character) => `%${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** The name that `escapeName` wrote. */
export function readName(escaped: string): string {
  return escaped.replace(/%([0-9a-f]{4})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}
