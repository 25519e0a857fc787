import type { SessionMessagePart } from "../../model/message.js";
import { isSettled, type ToolCallPart, toolNameOf } from "../../model/tool-calls.js";

/** A provider's name, or a model of the AI SDK, which names its provider. */
export type ProviderName = string | { readonly provider: string; readonly modelId?: string };

/** What a provider takes, beside what none takes. */
export interface ProviderRules {
  /** How a finding calls the provider. */
  readonly name: string;
  /** True for a reasoning part that can be sent back. */
  readonly takesReasoning: (part: SessionMessagePart) => boolean;
  /** True when reasoning must be followed by what it led to. */
  readonly reasoningLeads: boolean;
  /** True for a settled call that this provider ran itself and takes back as such. */
  readonly ranItself: (part: ToolCallPart, knownTools: ReadonlySet<string>) => boolean;
  /** The provider's own id of a part, which may occur once; null when it has none. */
  readonly itemId: (part: SessionMessagePart) => string | null;
  readonly maxIdLength: number;
  /** The media types of a user's files. */
  readonly files: RegExp;
  /** True when an answer may hold files that the model made. */
  readonly answersFiles: boolean;
  /** True when system messages stand before all others. */
  readonly systemFirst: boolean;
  /** True when the first message is the user's, and the last one the user's or a tool's. */
  readonly userFirstAndLast: boolean;
  /** The roles of which two messages may not follow each other. */
  readonly alternating: readonly string[];
}

type Metadata = Readonly<Record<string, unknown>>;
type Field = "providerMetadata" | "callProviderMetadata" | "resultProviderMetadata";

/** What the providers of these names, the first that did, told of a part. */
function metadataOf(part: SessionMessagePart, field: Field, ...providers: string[]): Metadata {
  const metadata = part[field] as Readonly<Record<string, Metadata | null | undefined>> | null | undefined;
  for (const provider of providers) {
    const found = metadata?.[provider];
    if (typeof found === "object" && found !== null) return found;
  }
  return {};
}

const isText = (value: unknown): value is string => typeof value === "string" && value !== "";

const never = () => false;

// ── Anthropic ──

const ANTHROPIC_TOOLS = /^(code_execution|web_fetch|web_search|tool_search_tool_(regex|bm25)|advisor)$/;

/** True when the results have the types that Anthropic gave them: a shortened result has lost them. */
function isTypedOutput(output: unknown): boolean {
  if (typeof output !== "object" || output === null) return false;
  return [output].flat().every((item: { type?: unknown; encryptedContent?: unknown }) => {
    return isText(item?.type) && (item.type !== "web_search_result" || isText(item.encryptedContent));
  });
}

function ranAtAnthropic(part: ToolCallPart, knownTools: ReadonlySet<string>): boolean {
  const { type, serverName } = metadataOf(part, "callProviderMetadata", "anthropic");
  const name = toolNameOf(part);
  if (type === "mcp-tool-use") {
    const isOutput = part.state === "output-error" || Array.isArray(part.output);
    return part.toolCallId.startsWith("mcptoolu_") && isText(serverName) && isOutput;
  }
  if (!/^srvtoolu_\w+$/.test(part.toolCallId) || !(ANTHROPIC_TOOLS.test(name) || knownTools.has(name))) return false;
  return part.state === "output-available"
    ? isTypedOutput(part.output)
    : part.state === "output-error" && name !== "advisor";
}

const ANTHROPIC: ProviderRules = {
  name: "Anthropic",
  takesReasoning: (part) => {
    const { signature, redactedData } = metadataOf(part, "providerMetadata", "anthropic", "bedrock");
    return isText(signature) || isText(redactedData);
  },
  reasoningLeads: true,
  ranItself: ranAtAnthropic,
  itemId: () => null,
  maxIdLength: 64,
  files: /^(image\/(jpeg|png|gif|webp|\*)|application\/pdf|text\/plain)$/,
  answersFiles: false,
  systemFirst: true,
  userFirstAndLast: true,
  alternating: [],
};

// ── OpenAI ──

const OPENAI_ITEM = /^(ws|fs|ci|ig|mcp|mcpr|sh|ts)_/;

/** The Responses API. `name` is that under which the AI SDK keeps what the provider told. */
function responsesApi(name: "openai" | "azure"): ProviderRules {
  const itemOf = (part: SessionMessagePart, field: Field) => {
    const { itemId } = metadataOf(part, field, name);
    return isText(itemId) ? itemId : null;
  };
  return {
    name: "OpenAI",
    // An item that was cut off is not kept on the server.
    takesReasoning: (part) => {
      if (part.state === "streaming") return false;
      const { itemId, reasoningEncryptedContent } = metadataOf(part, "providerMetadata", name);
      return isText(itemId) || isText(reasoningEncryptedContent);
    },
    reasoningLeads: true,
    ranItself: (part) => OPENAI_ITEM.test(itemOf(part, "callProviderMetadata") ?? part.toolCallId),
    itemId: (part) => itemOf(part, "providerMetadata"),
    maxIdLength: 64,
    files: /^(image\/(jpeg|png|gif|webp|\*)|application\/pdf)$/,
    answersFiles: false,
    systemFirst: false,
    userFirstAndLast: false,
    alternating: [],
  };
}

const OPENAI = responsesApi("openai");
const AZURE = responsesApi("azure");

const OPENAI_CHAT: ProviderRules = {
  ...OPENAI,
  name: "OpenAI's chat completions",
  takesReasoning: () => true,
  reasoningLeads: false,
  ranItself: never,
  itemId: () => null,
  maxIdLength: 40,
  files: /^(image\/(jpeg|png|gif|webp|\*)|application\/pdf|audio\/(wav|mp3|mpeg))$/,
};

// ── Google ──

const GOOGLE: ProviderRules = {
  name: "Google",
  takesReasoning: () => true,
  reasoningLeads: false,
  ranItself: (part) => {
    if (part.state !== "output-available" && part.state !== "output-error") return false;
    const result: Field = part.resultProviderMetadata == null ? "callProviderMetadata" : "resultProviderMetadata";
    return (["callProviderMetadata", result] as const).every((field) => {
      const { serverToolCallId, serverToolType } = metadataOf(part, field, "google", "googleVertex", "vertex");
      return isText(serverToolCallId) && isText(serverToolType);
    });
  },
  itemId: () => null,
  maxIdLength: 64,
  files: /./,
  answersFiles: true,
  systemFirst: true,
  userFirstAndLast: true,
  alternating: ["assistant"],
};

// ── All others: what the strictest of the servers and prompt templates ask for ──

const COMPATIBLE: ProviderRules = {
  ...OPENAI_CHAT,
  name: "OpenAI-compatible servers",
  files: /^(image\/(jpeg|png|gif|webp|\*)|application\/pdf|audio\/(wav|mp3|mpeg)|text\/.+)$/,
  systemFirst: true,
  userFirstAndLast: true,
  alternating: ["user", "assistant"],
};

/** The rules of a provider. One that is not known has those of OpenAI-compatible servers. */
export function rulesOf(provider: ProviderName): ProviderRules {
  const name = (typeof provider === "string" ? provider : provider.provider).toLowerCase();
  if (name.startsWith("gateway") && typeof provider !== "string" && provider.modelId?.includes("/")) {
    return rulesOf(provider.modelId);
  }
  if (/anthropic|claude|bedrock/.test(name)) return ANTHROPIC;
  if (/^(openai|azure)(?!-compatible)/.test(name)) {
    if (/\.(chat|completion)$/.test(name)) return OPENAI_CHAT;
    return name.startsWith("azure") ? AZURE : OPENAI;
  }
  return /google|vertex|gemini/.test(name) ? GOOGLE : COMPATIBLE;
}

/** True for a call that the provider ran itself, and whose result can be sent back as the provider's own. */
export function isOwnCall(part: ToolCallPart, rules: ProviderRules, knownTools: ReadonlySet<string>): boolean {
  return part.providerExecuted === true && isSettled(part) && rules.ranItself(part, knownTools);
}
