import type { Attributes } from "@opentelemetry/api";
import type { AgentUsage, Observed } from "../storage/contract.js";
import { ATTRIBUTES as A, NAME, operationOf, tableOf } from "./conventions.js";
import { type CountedUsage, countedUsage } from "./counted-usage.js";

/** A span, before it is known what became of it. */
export interface Described {
  readonly name: string;
  readonly attributes: Attributes;
  /** Those that a metric has: of few values. */
  readonly measured: Attributes;
}

export function statementSpan({ name, store, sql = "" }: Observed): Described {
  const table = tableOf(sql);
  const measured: Attributes = {
    [A.dbSystem]: store === "postgres" ? "postgresql" : "sqlite",
    [A.dbOperation]: name,
    ...(table === undefined ? {} : { [A.dbCollection]: table }),
  };
  return {
    name: table === undefined ? name : `${name} ${table}`,
    attributes: { ...measured, [A.dbQuery]: sql },
    measured,
  };
}

export function operationSpan(told: Observed): Described {
  const { name, sessionId } = told;
  const operation = operationOf(told);
  const measured: Attributes = {
    ...(operation === undefined ? {} : { [A.operation]: operation }),
    [A.provider]: NAME,
    [A.call]: name,
  };
  const counted = countedUsage(told);
  const conversation = sessionId ?? counted[0]?.sessionId;
  const of = told.agent?.name ?? told.tool?.name;
  return {
    name: of === undefined ? (operation ?? name) : `${operation} ${of}`,
    attributes: {
      ...measured,
      ...(conversation === undefined ? {} : { [A.conversation]: conversation }),
      ...usageAttributes(counted),
      ...agentAttributes(told),
    },
    measured,
  };
}

function agentAttributes({ agent, tool }: Observed): Attributes {
  if (tool !== undefined) return { [A.toolName]: tool.name, [A.toolCall]: tool.callId, [A.toolType]: "function" };
  if (agent === undefined) return {};
  return { ...(agent.name === undefined ? {} : { [A.agentName]: agent.name }), [A.model]: agent.model };
}

// Nobody counted where the work was left in the middle.
export function agentUsage(usage: AgentUsage | undefined): Attributes {
  if (usage === undefined) return {};
  return { [A.inputTokens]: usage.inputTokens, [A.outputTokens]: usage.outputTokens };
}

/** What tells of a model. */
export function modelAttributes({ model }: CountedUsage): Attributes {
  return { [A.operation]: "chat", [A.provider]: NAME, ...(model === undefined ? {} : { [A.model]: model }) };
}

// Of all requests together.
function usageAttributes(counted: readonly CountedUsage[]): Attributes {
  const last = counted.at(-1);
  if (last === undefined) return {};
  const sumOf = (kind: "input" | "output") => counted.reduce((sum, each) => sum + each[kind], 0);
  return { ...modelAttributes(last), [A.inputTokens]: sumOf("input"), [A.outputTokens]: sumOf("output") };
}
