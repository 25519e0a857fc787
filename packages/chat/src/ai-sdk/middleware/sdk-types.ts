import type { LanguageModelMiddleware, UIMessage } from "ai";

type Hooks = Required<LanguageModelMiddleware>;

/** The model under the middleware, as either major version of the AI SDK describes it. */
export type WrappedModel = Parameters<Hooks["overrideSupportedUrls"]>[0]["model"];
export type CallParams = Parameters<Hooks["transformParams"]>[0]["params"];
export type Prompt = CallParams["prompt"];
export type PromptMessage = Prompt[number];
export type Generated = Awaited<ReturnType<Hooks["wrapGenerate"]>>;
export type Streamed = Awaited<ReturnType<Hooks["wrapStream"]>>;
export type StreamPart = Streamed["stream"] extends ReadableStream<infer Part> ? Part : never;

export type Part = UIMessage["parts"][number];
