// How the calls of a store travel from `stemma/remote` to a server: as tagged JSON, in the body of `POST /v1/rpc`.
import type { OnceOperation } from "./store.js";

/** One call of a method of a store. */
export interface RemoteCall {
  /** Its number among the calls of the client. */
  readonly n: number;
  /** Such as "blocks.set" or "session.append". */
  readonly call: string;
  /** The session that it is a call of. */
  readonly session?: string | undefined;
  /** The user to whom its store is confined. */
  readonly user?: string | undefined;
  readonly values: readonly unknown[];
  /** The operation of which it is one write. Default: the call is one of its own. */
  readonly once?: Omit<OnceOperation, "together"> | undefined;
  /** How many values of a stream have come already, when it is asked for again. */
  readonly skip?: number | undefined;
}

/** Calls that are made in their order, none waiting for another. A stream is alone. */
export interface RemoteRequest {
  /** By chance: names the client, so that a call which comes again is known. */
  readonly client: string;
  /** They have been sent before. */
  readonly again?: boolean | undefined;
  /**
   * The number of the first call with which they were sent first. What they write to one session is done in one transaction, and known by
   * this number when it comes again. Default: each call is done by itself.
   */
  readonly batch?: number | undefined;
  readonly calls: readonly RemoteCall[];
}

/** The outcome of a call: a line of the answer, in the order in which they end. */
export type RemoteAnswer =
  | { readonly n: number; readonly value?: unknown }
  | { readonly n: number; readonly error: RemoteFailure };

/** The lines of a stream: once it has begun, each of its values, and its end. */
export type RemoteStreamAnswer =
  | {
      readonly open: true;
      /** The leaf of the path that it reads. */
      readonly leafId?: string | undefined;
    }
  | { readonly value: unknown }
  | { readonly end: true }
  | { readonly error: RemoteFailure };

export interface RemoteFailure {
  /** Of a `StemmaError`; "INTERNAL" for what else went wrong. */
  readonly code: string;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
  readonly cause?: { readonly name: string; readonly message: string } | undefined;
}
