/** The kind and place of a text that is about to be stored, or sent to telemetry. */
export interface RedactWhere {
  /**
   * `message`: a string of a message; `summary`: of a compaction; `block`, `entry`: what is kept beside messages; `prompt`: a frozen
   * prompt; `title`: the name of a session; `metadata`: a string of a session's metadata; `record`: of a record, as the chunks
   * of an answer; `query`: what is searched for; `telemetry`: what a span would hold.
   */
  readonly kind:
    | "message"
    | "summary"
    | "block"
    | "entry"
    | "prompt"
    | "title"
    | "metadata"
    | "record"
    | "query"
    | "telemetry";
  /** "" for the unnamed session, and for what is shared; null where it is of several, or not known. */
  readonly sessionId: string | null;
  /** Of a message. */
  readonly role?: string | undefined;
  /** The type of the message's part that it stands in. */
  readonly partType?: string | undefined;
  /** Of a block, an entry or a record. */
  readonly label?: string | undefined;
  /** Of an entry or a record. */
  readonly key?: string | undefined;
  /** Where it stands in a value: in a message, `["parts", 0, "text"]`. */
  readonly path?: readonly (string | number)[] | undefined;
}

/**
 * Gives what is stored in place of a text. It is called for each string, and may be called again with what it gave: it must
 * give that back as it is, and the same for the same text. It is not awaited. What it throws fails the call, and nothing is
 * stored.
 */
export type RedactFunction = (text: string, options: { readonly where: RedactWhere }) => string;

/** The redaction of a store, for what compares with what it stores, and for what is told beside it. All of it: `REDACTION_FAILED`. */
export interface Redaction {
  text(text: string, where: RedactWhere): string;
  /** A JSON value with each of its strings redacted; the value itself where nothing changed. Keys stay. */
  json<T>(value: T, where: RedactWhere): T;
  /** A message as it would be stored. */
  message<M extends object>(message: M, sessionId: string): M;
}
