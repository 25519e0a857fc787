/** The model whose vectors a database holds. */
export interface VectorModel {
  readonly id: string;
  readonly dimensions: number;
}

/** The state of one message's vector. */
export interface KeptVector {
  readonly messageId: string;
  /** The SHA-256 of the text that is embedded. */
  readonly text: string;
  /** Null for a message that needs none; missing for one that waits for its vector. */
  readonly vector?: Float32Array | null | undefined;
}

/** The vectors of messages, as a copy of a store takes them along. */
export interface VectorStore {
  /** Null where no embedder was used. */
  model(): Promise<VectorModel | null>;
  /**
   * The messages of a session that were embedded or wait for it behind such a one, in order, page by page. What is not of
   * `model` waits. Errors: `SESSION_OWNED`.
   */
  list(sessionId: string, model: VectorModel): AsyncIterable<KeptVector>;
  /**
   * Writes vectors that `list` gave for a session with the same messages, in the same order. It makes no vector: the text of each
   * message must be the one that its vector was made of. Resolves to the outcome of each: `written`, `present`, `own` when the
   * store has a vector and the given one waits, or `other` when there is no such message.
   * Errors: `COPY_CONFLICT` where the database holds vectors of another model; `SESSION_OWNED`, `MIGRATION_REQUIRED`.
   */
  import(sessionId: string, model: VectorModel, vectors: readonly KeptVector[]): Promise<ImportedVector[]>;
}

export type ImportedVector = "written" | "present" | "own" | "other";
