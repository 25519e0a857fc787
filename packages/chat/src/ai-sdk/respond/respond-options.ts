import type { AgentUsage } from "@stemma/store";
import type { LanguageModelUsage, TextStreamPart, ToolSet } from "ai";

export interface RespondOptions {
  /** Keeps a request's work alive after its response, as `waitUntil` of a Worker's `ctx` does. */
  waitUntil?: ((work: Promise<unknown>) => void) | undefined;
  /** Gives the text that the client is told of an error. Default: that one occurred, and nothing of it; of `RUN_LOST` its message. */
  // biome-ignore lint/suspicious/noConfusingVoidType: a function that only logs gives nothing.
  onError?: ((error: unknown) => string | void) | undefined;
  /** Gives the price of a step, in your currency: it is added to the session's `estimated_cost`. Default: nothing. */
  cost?: ((usage: LanguageModelUsage) => number) | undefined;
  /** Fields for the metadata of the answer, as for `toUIMessageStream`. */
  messageMetadata?: ((options: { part: TextStreamPart<ToolSet> }) => unknown) | undefined;
}

/** The part of the results of `streamText` and `agent.stream` that is read. */
export interface StreamResult {
  // biome-ignore lint/suspicious/noExplicitAny: the two majors of the AI SDK type their options differently.
  toUIMessageStream(options?: any): ReadableStream<any>;
}

/** The data of a part of type `data-run`, which tells a client of its run and is not stored: `onData` of `useChat` gets it. */
export interface RunData {
  /** The id that `POST /:id/stop` takes. */
  readonly runId: string;
  /** The message that holds the answer. */
  readonly messageId: string;
  /** The user's message that was edited: the id that the client gave it, and the one that it is stored under. */
  readonly edited: { readonly given: string; readonly stored: string } | null;
}

/** The usage of an answer, and the error that it ended with. */
export interface Ended {
  readonly usage: AgentUsage;
  readonly failure: Error | null;
}
