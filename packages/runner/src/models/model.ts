import { kindOf, once, StemmaError } from "@stemma/model";
import type { AgentUsage } from "@stemma/store";
import type { LanguageModelUsage } from "ai";
import type { ExtendedUsageInfo, ModelPrices } from "../types.js";
/** A model of the AI SDK, as its provider packages make them. */
export interface ModelObject {
  readonly specificationVersion: string;
  readonly provider: string;
  readonly modelId: string;
}

/** A model object, or a name: `claude-…`, `gpt-…`, `provider/model`. */
export type AgentModel = ModelObject | string;

/** Finds a model when it is first asked. */
export type ModelSource = () => Promise<ModelObject>;

export interface ModelSettings {
  /** An OpenAI-compatible server (Ollama, LM Studio, vLLM, …). The model's name goes to it as it is. */
  baseURL?: string | undefined;
  /** Default: the provider's usual environment variable. */
  apiKey?: string | undefined;
}

interface Provider {
  readonly package: string;
  /** The package's function that makes a provider. */
  readonly create: string;
  /** The environment variable of the key. */
  readonly key: string;
}

// The packages of this major version work with the AI SDK that Stemma uses.
const PROVIDERS: Readonly<Record<string, Provider>> = {
  anthropic: { package: "@ai-sdk/anthropic@3", create: "createAnthropic", key: "ANTHROPIC_API_KEY" },
  openai: { package: "@ai-sdk/openai@3", create: "createOpenAI", key: "OPENAI_API_KEY" },
  google: { package: "@ai-sdk/google@3", create: "createGoogleGenerativeAI", key: "GOOGLE_GENERATIVE_AI_API_KEY" },
  mistral: { package: "@ai-sdk/mistral@3", create: "createMistral", key: "MISTRAL_API_KEY" },
  xai: { package: "@ai-sdk/xai@3", create: "createXai", key: "XAI_API_KEY" },
  groq: { package: "@ai-sdk/groq@3", create: "createGroq", key: "GROQ_API_KEY" },
  deepseek: { package: "@ai-sdk/deepseek@2", create: "createDeepSeek", key: "DEEPSEEK_API_KEY" },
};

const COMPATIBLE = "@ai-sdk/openai-compatible@2";

/** Names without a provider, by how they start. */
const FAMILIES: readonly (readonly [RegExp, string])[] = [
  [/^claude-/, "anthropic"],
  [/^(gpt-|chatgpt-|o\d)/, "openai"],
  [/^gemini-/, "google"],
];

/**
 * Finds the model with this name; a model object is returned as it is. Errors: `MODEL_UNAVAILABLE`, whose message names the
 * package to install or the variable to set.
 */
export async function resolveModel(model: AgentModel, settings: ModelSettings = {}): Promise<ModelObject> {
  assertModel(model);
  if (typeof model !== "string") return model;
  if (settings.baseURL !== undefined) return compatibleModel(model, settings.baseURL, settings.apiKey);
  const [name, modelId] = splitName(model);
  const provider = PROVIDERS[name];
  if (provider === undefined) {
    const known = Object.keys(PROVIDERS).join(", ");
    const message = `"${name}" is not a provider known here (${known}). For an OpenAI-compatible server give its base URL (on the command line: --base-url); a program can also pass a model object of any AI SDK package.`;
    throw unavailable(model, message);
  }
  const create = await loadFactory(model, provider.package, provider.create);
  const apiKey = settings.apiKey ?? environment(provider.key);
  if (apiKey === undefined) throw unavailable(model, `Set the environment variable ${provider.key} to use ${model}.`);
  return create({ apiKey })(modelId);
}

/** `resolveModel` at the first call; after a failure the next one tries again. What is no model fails now: `MODEL_UNAVAILABLE`. */
export function modelSource(model: AgentModel, { baseURL, apiKey }: ModelSettings = {}): ModelSource {
  assertModel(model);
  return once(() => resolveModel(model, { baseURL, apiKey }));
}

async function compatibleModel(model: string, baseURL: string, givenKey: string | undefined): Promise<ModelObject> {
  if (!URL.canParse(baseURL)) {
    throw unavailable(model, `"${baseURL}" is not a URL; a base URL looks like http://localhost:11434/v1.`);
  }
  const create = await loadFactory(model, COMPATIBLE, "createOpenAICompatible");
  const apiKey = givenKey ?? environment("OPENAI_API_KEY");
  // Without `includeUsage` a streaming server reports no tokens.
  return create({ name: "compatible", baseURL, includeUsage: true, ...(apiKey === undefined ? {} : { apiKey }) })(
    model,
  );
}

function splitName(model: string): [provider: string, modelId: string] {
  const slash = model.indexOf("/");
  if (model.endsWith("/")) throw unavailable(model, `"${model}" names no model: write provider/model.`);
  if (slash > 0) return [model.slice(0, slash), model.slice(slash + 1)];
  const family = FAMILIES.find(([pattern]) => pattern.test(model));
  if (family === undefined) {
    const message = `"${model}" does not say whose model it is: write provider/model (anthropic/${model}), or give the base URL of an OpenAI-compatible server (on the command line: --base-url).`;
    throw unavailable(model, message);
  }
  return [family[1], model];
}

type Factory = (settings: Record<string, unknown>) => (modelId: string) => ModelObject;

async function loadFactory(model: string, pinned: string, name: string): Promise<Factory> {
  const specifier = pinned.slice(0, pinned.lastIndexOf("@"));
  let loaded: Record<string, unknown>;
  try {
    loaded = (await import(/* @vite-ignore */ specifier)) as Record<string, unknown>;
  } catch (cause) {
    throw unavailable(model, `To use ${model}, run: npm install ${pinned}`, cause);
  }
  const factory = loaded[name];
  if (typeof factory !== "function") {
    throw unavailable(model, `This version of ${specifier} has no ${name}(); run: npm install ${pinned}`);
  }
  return factory as Factory;
}

function environment(name: string): string | undefined {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  const value = process?.env?.[name];
  return value === "" ? undefined : value;
}

function assertModel(model: AgentModel): void {
  if (typeof model === "string") return;
  if (typeof model === "object" && model !== null && "specificationVersion" in model && "modelId" in model) return;
  const message = `A model is a name such as claude-sonnet-5-5, or a model object of the AI SDK; got ${kindOf(model)}.`;
  throw unavailable(String(model), message);
}

function unavailable(model: string, message: string, cause?: unknown): StemmaError {
  return new StemmaError("MODEL_UNAVAILABLE", { model }, message, cause === undefined ? undefined : { cause });
}

/** The AI SDK, which is loaded when a model is asked. Errors: `MODEL_UNAVAILABLE` where it is not installed. */
export async function loadAiSdk(): Promise<typeof import("ai")> {
  try {
    return await import("ai");
  } catch (cause) {
    throw new StemmaError("MODEL_UNAVAILABLE", {}, "To call a model, run: npm install ai@6", { cause });
  }
}

export const NO_USAGE: Readonly<ExtendedUsageInfo> = { input_tokens: 0, output_tokens: 0 };

const OPTIONAL = ["cache_creation_input_tokens", "cache_read_input_tokens", "total_cost_usd"] as const;

/** The sum. A field that neither has stays absent. */
export function addUsage(a: ExtendedUsageInfo, b: ExtendedUsageInfo): ExtendedUsageInfo {
  const sum: ExtendedUsageInfo = {
    input_tokens: a.input_tokens + b.input_tokens,
    output_tokens: a.output_tokens + b.output_tokens,
  };
  for (const field of OPTIONAL) {
    if (a[field] !== undefined || b[field] !== undefined) sum[field] = (a[field] ?? 0) + (b[field] ?? 0);
  }
  return sum;
}

/** All input tokens, cached ones included. */
export function totalInput(usage: ExtendedUsageInfo): number {
  return usage.input_tokens + (usage.cache_creation_input_tokens ?? 0) + (usage.cache_read_input_tokens ?? 0);
}

/** A usage as an observer gets it. */
export function agentUsage(usage: ExtendedUsageInfo): AgentUsage {
  return { inputTokens: totalInput(usage), outputTokens: usage.output_tokens };
}

/** The usage of one step as the AI SDK reports it, priced. What a provider does not report, or reports as no count, counts 0. */
export function usageOf(usage: LanguageModelUsage, prices: ModelPrices | undefined): ExtendedUsageInfo {
  const { inputTokens, outputTokens, inputTokenDetails } = usage as Partial<LanguageModelUsage>;
  const read = count(inputTokenDetails?.cacheReadTokens);
  const write = count(inputTokenDetails?.cacheWriteTokens);
  const result: ExtendedUsageInfo = {
    input_tokens: Math.max(0, count(inputTokens) - read - write),
    output_tokens: count(outputTokens),
  };
  if (write) result.cache_creation_input_tokens = write;
  if (read) result.cache_read_input_tokens = read;
  if (prices) result.total_cost_usd = costOf(result, prices);
  return result;
}

function costOf(usage: ExtendedUsageInfo, prices: ModelPrices): number {
  const { input, output, cacheRead = input, cacheWrite = input } = prices;
  const perMillion =
    usage.input_tokens * input +
    usage.output_tokens * output +
    (usage.cache_read_input_tokens ?? 0) * cacheRead +
    (usage.cache_creation_input_tokens ?? 0) * cacheWrite;
  return amount(perMillion / 1_000_000);
}

/** Tokens of one step beyond which a report is no count: their sums stay exact. */
const MAX_TOKENS = 1e12;

function count(reported: unknown): number {
  const isCount = typeof reported === "number" && Number.isInteger(reported) && reported > 0 && reported <= MAX_TOKENS;
  return isCount ? reported : 0;
}

function amount(dollars: number): number {
  return Number.isFinite(dollars) ? dollars : 0;
}
