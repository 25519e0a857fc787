import type { SessionMessagePart } from "../../model/message.js";
import { type ToolCallPart, toolNameOf } from "../../model/tool-calls.js";
import { type Field, isText, metadataOf, type ProviderRules } from "./provider-rules.js";

/** A provider's name, or a model of the AI SDK, which names its provider. */
export type ProviderName = string | { readonly provider: string; readonly modelId?: string };

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
  ranItself: () => false,
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
