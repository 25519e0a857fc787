import type { AgentUsage } from "@stemma/store";
import type { LanguageModelUsage, TextStreamPart, ToolSet } from "ai";

export interface RespondOptions {
  /** What the platform gives to keep a request's work alive after its response, as a Worker's `ctx`. */
  waitUntil?: ((work: Promise<unknown>) => void) | undefined;
  /** What the client is told of an error. Default: that one occurred, and nothing of it; of `RUN_LOST` its message. */
  // biome-ignore lint/suspicious/noConfusingVoidType: a function that only logs gives nothing.
  onError?: ((error: unknown) => string | void) | undefined;
  /** What a step cost, in your currency: it is added to the session's `estimated_cost`. Default: nothing. */
  cost?: ((usage: LanguageModelUsage) => number) | undefined;
  /** Fields for the metadata of the answer, as for `toUIMessageStream`. */
  messageMetadata?: ((options: { part: TextStreamPart<ToolSet> }) => unknown) | undefined;
}

/** What `streamText` and `agent.stream` give. */
export interface StreamResult {
  // biome-ignore lint/suspicious/noExplicitAny: the two majors of the AI SDK type their options differently.
  toUIMessageStream(options?: any): ReadableStream<any>;
}

/** What a client is told of a run in a part of type `data-run`, which is not stored: `onData` of `useChat` gets it. */
export interface RunData {
  /** What `POST /:id/stop` takes. */
  readonly runId: string;
  /** The message that holds the answer. */
  readonly messageId: string;
  /** The user's message that was edited: the id that the client gave it, and the one that it is stored under. */
  readonly edited: { readonly given: string; readonly stored: string } | null;
}

/** What an answer used, and what it failed with. */
export interface Ended {
  readonly usage: AgentUsage;
  readonly failure: Error | null;
}
