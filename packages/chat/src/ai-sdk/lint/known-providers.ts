import type { SessionMessagePart } from "@stemma/model";
import { check, isJsonObject, type ToolCallPart, toolNameOf } from "@stemma/model";
import { type Field, isText, metadataOf, type ProviderLimits, type ProviderRules } from "./provider-rules.js";
import { digestIds, plainIds } from "./turns.js";

/** A provider's name, or a model of the AI SDK, which names its provider. */
export type ProviderName = string | { readonly provider: string; readonly modelId?: string };

/** An option that names a provider. */
export const providerName = check.rule<ProviderName>(
  "a model of the AI SDK, or the name of its provider",
  (model) => typeof model === "string" || (isJsonObject(model) && typeof model.provider === "string"),
);

/** Names of tools with letters, digits, _ and -. */
const plainNames = (maxLength: number) => new RegExp(`^[A-Za-z0-9_-]{1,${maxLength}}$`);

/** The limits where a provider documents none; a window of 128,000 tokens. */
const UNLIMITED: ProviderLimits = {
  text: Number.POSITIVE_INFINITY,
  output: 64_000,
  images: Number.POSITIVE_INFINITY,
  documents: Number.POSITIVE_INFINITY,
  imageSize: Number.POSITIVE_INFINITY,
  documentSize: Number.POSITIVE_INFINITY,
  filesSize: Number.POSITIVE_INFINITY,
};

/** The share of a request that texts may take, where its size is limited. */
const ROOM_FOR_TEXTS = 1_000_000;

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
  takesItemId: () => true,
  callIds: plainIds(64),
  toolNames: plainNames(128),
  takesEmptyOutput: true,
  limits: {
    ...UNLIMITED,
    output: 100_000,
    images: 100,
    imageSize: 5 * 1024 * 1024,
    filesSize: 32_000_000 - ROOM_FOR_TEXTS,
  },
  files: /^(image\/(jpeg|png|gif|webp|\*)|application\/pdf|text\/plain)$/,
  answersFiles: false,
  fileNames: null,
  textBesideFiles: false,
  answersResults: false,
  systemFirst: true,
  userFirstAndLast: true,
  alternating: [],
};

/** The Converse API. */
const BEDROCK: ProviderRules = {
  ...ANTHROPIC,
  name: "Amazon Bedrock",
  toolNames: plainNames(64),
  takesEmptyOutput: false,
  // 3.75 MB and 4.5 MB, which base64 makes a third longer.
  limits: { ...UNLIMITED, images: 20, documents: 5, imageSize: 5_000_000, documentSize: 6_000_000 },
  files:
    /^(image\/(jpeg|png|gif|webp|\*)|application\/(pdf|msword|vnd\.ms-excel|vnd\.openxmlformats-officedocument\.(wordprocessingml\.document|spreadsheetml\.sheet))|text\/(plain|csv|html|markdown))$/,
  fileNames: /^(?=.{1,200}$)[A-Za-z0-9()[\]-]+(\s[A-Za-z0-9()[\]-]+)*$/,
  textBesideFiles: true,
};

// ── OpenAI ──

const OPENAI_ITEM = /^(ws|fs|ci|ig|mcp|mcpr|sh|ts)_.{1,60}$/;
const MAX_ITEM_ID = 64;

/** The Responses API. `name` is that under which the AI SDK keeps what the provider told. */
function responsesApi(name: "openai" | "azure"): ProviderRules {
  const itemOf = (part: SessionMessagePart, field: Field) => {
    const { itemId } = metadataOf(part, field, name);
    return isText(itemId) ? itemId : null;
  };
  const takesItemId = (id: string, type: string) =>
    id.length <= MAX_ITEM_ID && id.startsWith(type === "reasoning" ? "rs_" : "msg_");
  return {
    name: "OpenAI",
    // An item that was cut off is not kept on the server.
    takesReasoning: (part) => {
      if (part.state === "streaming") return false;
      const { itemId, reasoningEncryptedContent } = metadataOf(part, "providerMetadata", name);
      return isText(itemId) ? takesItemId(itemId, "reasoning") : isText(reasoningEncryptedContent);
    },
    reasoningLeads: true,
    ranItself: (part) => OPENAI_ITEM.test(itemOf(part, "callProviderMetadata") ?? part.toolCallId),
    itemId: (part) => itemOf(part, "providerMetadata"),
    takesItemId,
    callIds: plainIds(64),
    toolNames: plainNames(64),
    takesEmptyOutput: true,
    limits: { ...UNLIMITED, text: 10_485_760, images: 500, filesSize: 50_000_000 - ROOM_FOR_TEXTS },
    files: /^(image\/(jpeg|png|gif|webp|\*)|application\/pdf)$/,
    answersFiles: false,
    fileNames: null,
    textBesideFiles: false,
    answersResults: false,
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
  takesItemId: () => true,
  callIds: plainIds(40),
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
  takesItemId: () => true,
  callIds: plainIds(64),
  toolNames: /^[A-Za-z_][\w.:-]{0,63}$/,
  takesEmptyOutput: true,
  limits: { ...UNLIMITED, output: 500_000, images: 3_000, filesSize: 100_000_000 - ROOM_FOR_TEXTS },
  files: /./,
  answersFiles: true,
  fileNames: null,
  textBesideFiles: false,
  answersResults: false,
  systemFirst: true,
  userFirstAndLast: true,
  alternating: ["assistant"],
};

// ── All others: what the strictest of the servers and prompt templates ask for ──

const COMPATIBLE: ProviderRules = {
  ...OPENAI_CHAT,
  name: "OpenAI-compatible servers",
  takesEmptyOutput: false,
  limits: { ...UNLIMITED, text: 10_485_760 },
  files: /^(image\/(jpeg|png|gif|webp|\*)|application\/pdf|audio\/(wav|mp3|mpeg)|text\/.+)$/,
  systemFirst: true,
  userFirstAndLast: true,
  alternating: ["user", "assistant"],
};

const MISTRAL: ProviderRules = {
  ...COMPATIBLE,
  name: "Mistral",
  callIds: digestIds(9),
  // 10 MB, which base64 makes a third longer.
  limits: { ...COMPATIBLE.limits, images: 8, imageSize: 13_333_336 },
  files: /^(image\/(jpeg|png|gif|webp|\*)|application\/pdf)$/,
  answersResults: true,
};

const GROQ: ProviderRules = {
  ...COMPATIBLE,
  name: "Groq",
  limits: { ...COMPATIBLE.limits, images: 5, filesSize: 4_000_000 - ROOM_FOR_TEXTS },
  files: /^image\/(jpeg|png|gif|webp|\*)$/,
};

const XAI: ProviderRules = {
  ...COMPATIBLE,
  name: "xAI",
  // 20 MiB, which base64 makes a third longer.
  limits: { ...COMPATIBLE.limits, imageSize: 27_962_028 },
  files: /^image\/(jpeg|png|\*)$/,
};

const DEEPSEEK: ProviderRules = { ...COMPATIBLE, name: "DeepSeek", files: /^(?!)/ };

/** Every provider whose rules are known, under a name that has them. */
export const PROVIDERS = {
  anthropic: ANTHROPIC,
  "amazon-bedrock": BEDROCK,
  openai: OPENAI,
  azure: AZURE,
  "openai.chat": OPENAI_CHAT,
  google: GOOGLE,
  mistral: MISTRAL,
  groq: GROQ,
  xai: XAI,
  deepseek: DEEPSEEK,
  "openai-compatible": COMPATIBLE,
} satisfies Record<string, ProviderRules>;

/** The rules by the names of providers; the first that fits counts. */
const NAMES: readonly (readonly [RegExp, ProviderRules])[] = [
  [/anthropic|claude/, ANTHROPIC],
  [/bedrock/, BEDROCK],
  [/^(openai|azure)(?!-compatible).*\.(chat|completion)$/, OPENAI_CHAT],
  [/^openai(?!-compatible)/, OPENAI],
  [/^azure(?!-compatible)/, AZURE],
  [/google|vertex|gemini/, GOOGLE],
  [/(mi|code|dev|magi|mini)stral/, MISTRAL],
  [/groq/, GROQ],
  [/^xai|grok/, XAI],
  [/deepseek/, DEEPSEEK],
];

/** The rules of a provider. One that is not known has those of OpenAI-compatible servers. */
export function rulesOf(provider: ProviderName): ProviderRules {
  const { provider: given, modelId = "" } = typeof provider === "string" ? { provider } : provider;
  const name = given.toLowerCase();
  if (name.startsWith("gateway") && modelId.includes("/")) return rulesOf(modelId);
  const [, known] = NAMES.find(([pattern]) => pattern.test(name)) ?? [];
  if (known !== undefined) return known;
  // Whoever serves these models asks for what their prompt templates do.
  return /(mi|code|dev|magi|mini)stral/i.test(modelId) ? MISTRAL : COMPATIBLE;
}
