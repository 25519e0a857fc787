import { Session, SessionManager } from "@stemma/session";
import type { EmbeddableStore, EmbeddedStore, Embedder, RerankerOptions, RerankFunction, Store } from "@stemma/store";
import { ConformanceError } from "./assert.js";
import type { StoreTarget } from "./target.js";

/** The session that most cases write to. */
export const MAIN = "main";

export interface EmbeddedWorkspace extends Workspace {
  readonly store: EmbeddedStore;
}

/** A store and sessions on it, with which a case works. */
export class Workspace {
  /** The session `MAIN`. */
  readonly session: Session;
  readonly manager: SessionManager;
  readonly #opened: Store[];

  private constructor(
    readonly target: StoreTarget,
    readonly store: Store,
    opened: Store[],
  ) {
    this.#opened = opened;
    opened.push(store);
    this.session = this.sessionOf(MAIN);
    this.manager = SessionManager.create(store);
  }

  /** A workspace on a new store, or on `store`. */
  static async open(target: StoreTarget, store?: Store): Promise<Workspace> {
    return new Workspace(target, store ?? (await target.open()), []);
  }

  /** A new object for a session, which nothing was configured on or read with. */
  readonly sessionOf = (id: string): Session => Session.create(this.store).forSession(id);

  /** Opens the data through another connection. Needs `durable`. */
  readonly connect = async (): Promise<Workspace> => {
    return new Workspace(this.target, await this.#reopen(), this.#opened);
  };

  /** Another store, which holds nothing yet. From then on `store` is not used: an engine may have one database only. */
  readonly openAnother = async (): Promise<Store> => {
    const store = await this.target.open();
    this.#opened.push(store);
    return store;
  };

  /** A workspace on another store, which searches tool calls and holds nothing yet; see `openAnother`. Needs `openWithTools`. */
  readonly withTools = async (): Promise<Workspace> => {
    return new Workspace(this.target, (await this.target.openWithTools?.()) as Store, this.#opened);
  };

  /** Opens the data again after the store was closed. Needs `durable`. */
  readonly restart = async (): Promise<Workspace> => {
    await this.store.close();
    return this.connect();
  };

  /** Opens the store with an embedder, so that it is searched by meaning too. Needs `embeddings`. */
  readonly embed = (embedder: Embedder): EmbeddedWorkspace => {
    const embedded = (this.store as EmbeddableStore).withEmbedder(embedder);
    return new Workspace(this.target, embedded, this.#opened) as EmbeddedWorkspace;
  };

  /** Opens the store with a reranker. Needs `embeddings`: a store that can have one can have the other. */
  readonly rerank = (reranker: RerankFunction, options?: RerankerOptions): Workspace => {
    const reranked = (this.store as EmbeddableStore).withReranker(reranker, options);
    return new Workspace(this.target, reranked, this.#opened);
  };

  /** Makes a message of `MAIN` unreadable. Needs `corrupt`. */
  readonly corrupt = async (messageId: string): Promise<void> => {
    await this.target.corrupt?.(this.store, MAIN, messageId);
  };

  async close(): Promise<void> {
    // What an embedder is at work on is closed after it.
    for (const store of [...this.#opened].reverse()) await store.close();
  }

  async #reopen(): Promise<Store> {
    const store = await this.target.reopen?.(this.store);
    if (store !== undefined) return store;
    throw new ConformanceError("a durable target needs reopen()", undefined, "reopen()");
  }
}
