import type { Observed } from "@stemma/store";

// Names of the OpenTelemetry semantic conventions: databases are stable, GenAI is "development", as of 1.41.

/** Who tells of it. */
export const NAME = "stemma";

export const ATTRIBUTES = {
  operation: "gen_ai.operation.name",
  provider: "gen_ai.provider.name",
  conversation: "gen_ai.conversation.id",
  agentName: "gen_ai.agent.name",
  toolName: "gen_ai.tool.name",
  toolCall: "gen_ai.tool.call.id",
  toolType: "gen_ai.tool.type",
  toolArguments: "gen_ai.tool.call.arguments",
  toolResult: "gen_ai.tool.call.result",
  model: "gen_ai.request.model",
  tokenType: "gen_ai.token.type",
  inputTokens: "gen_ai.usage.input_tokens",
  outputTokens: "gen_ai.usage.output_tokens",
  dbSystem: "db.system.name",
  dbOperation: "db.operation.name",
  dbCollection: "db.collection.name",
  dbQuery: "db.query.text",
  dbParameter: "db.query.parameter.",
  error: "error.type",
  /** Our own: the call as it is named in the contract of stores. */
  call: "stemma.call",
} as const;

export const METRICS = {
  operation: "gen_ai.client.operation.duration",
  tokens: "gen_ai.client.token.usage",
  statement: "db.client.operation.duration",
} as const;

const OPERATIONS: readonly (readonly [RegExp, string])[] = [
  [/^(search|session\.search|entries\.search)$/, "search_memory"],
  [/^session\.(append|appendSibling|importTree)$|^sessions\.(create|fork|split)$/, "create_memory"],
  [/^session\.(update|setActiveLeaf|selectBranch|rewindTo)$|^sessions\.(update|restore|claim)$/, "update_memory"],
  [
    /^session\.(upsert|addCompaction|changeSkills)$|^(blocks|entries|records)\.(set|append|importVersions|expire)$|^writeTogether$/,
    "upsert_memory",
  ],
  [/^session\.(delete|clear|removeCompaction)$|^(sessions|blocks|entries|records)\.delete$/, "delete_memory"],
];

/** The GenAI name of what is observed; undefined for reads and for statements, which have none. */
export function operationOf(told: Observed): string | undefined {
  const { type, name } = told;
  if (type === "compaction") return "compact";
  if (type === "turn") return "prepare_turn";
  if (type === "agent") return "invoke_agent";
  if (type === "tool") return "execute_tool";
  if (type === "rerank") return "rerank";
  if (countedUsage(told).length > 0) return "chat";
  return type === "call" ? OPERATIONS.find(([names]) => names.test(name))?.[1] : undefined;
}

/** The table that a statement is about, as far as its text tells. */
export function tableOf(sql: string): string | undefined {
  return /\b(?:FROM|INTO|UPDATE|TABLE)\s+(?:IF\s+(?:NOT\s+)?EXISTS\s+)?"?([A-Za-z_]\w*)/i.exec(sql)?.[1];
}

/** The usage of one request to a model, as a call counts it. */
export interface CountedUsage {
  readonly sessionId: string;
  readonly input: number;
  readonly output: number;
  readonly model: string | undefined;
}

/** Finds the usage that a call counts: `addUsage(id, inputTokens, outputTokens, cost, model)`, or such writes of `writeTogether`. */
export function countedUsage({ name, values = [] }: Observed): CountedUsage[] {
  if (name === "sessions.addUsage") {
    const [id, input, output, , model] = values;
    return [{ sessionId: String(id), input: Number(input), output: Number(output), model: nameOf(model) }];
  }
  const [writes] = values;
  if (name !== "writeTogether" || !Array.isArray(writes)) return [];
  return writes.flatMap(({ registered, usage, model }) =>
    usage === undefined
      ? []
      : [{ sessionId: registered, input: usage.inputTokens, output: usage.outputTokens, model: nameOf(model) }],
  );
}

const nameOf = (model: unknown) => (typeof model === "string" ? model : undefined);
