// The types of the OpenAI Agents SDK that its sessions are made of, written down here so that they need no installed SDK.

/** Asks that calls be replaced by others with the same `callId`. */
export interface HistoryRewrite<Item> {
  mutations: readonly { type: "replace_function_call"; callId: string; replacement: Item }[];
}

/** A change that is made once, however often it is asked for under its id. */
export interface HistoryTransaction<Item> {
  operationId: string;
  transaction:
    | { type: "append_items"; items: Item[] }
    | { type: "replace_suffix"; expectedSuffix: Item[]; replacement: Item[] };
}

/** The session that the SDK asks for. */
export interface SdkSession<Item> {
  getSessionId(): Promise<string>;
  /** The newest items, as many as the limit says, in the order in which they were added; without a limit all of them. */
  getItems(limit?: number): Promise<Item[]>;
  addItems(items: Item[]): Promise<void>;
  /** Removes the newest item; undefined where there is none. */
  popItem(): Promise<Item | undefined>;
  clearSession(): Promise<void>;
  applyHistoryMutations(rewrite: HistoryRewrite<Item>): Promise<void>;
  applyHistoryTransaction(transaction: HistoryTransaction<Item>): Promise<void>;
}
