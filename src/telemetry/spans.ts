import type { Attributes } from "@opentelemetry/api";
import type { AgentUsage, Observed } from "../storage/contract.js";
import { ATTRIBUTES as A, NAME, operationOf, tableOf } from "./conventions.js";

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
  const usage = name === "sessions.addUsage" ? usageAttributes(told) : {};
  const conversation = sessionId === undefined ? {} : { [A.conversation]: sessionId };
  const of = told.agent?.name ?? told.tool?.name;
  return {
    name: of === undefined ? (operation ?? name) : `${operation} ${of}`,
    attributes: { ...measured, ...conversation, ...usage, ...agentAttributes(told) },
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

// Of `addUsage(id, inputTokens, outputTokens, cost, model)`.
export function usageOf({ values = [] }: Observed): { input: number; output: number } {
  return { input: Number(values[1]), output: Number(values[2]) };
}

export function modelOf({ values = [] }: Observed): Attributes {
  const model = values[4];
  return { [A.operation]: "chat", [A.provider]: NAME, ...(typeof model === "string" ? { [A.model]: model } : {}) };
}

function usageAttributes(told: Observed): Attributes {
  const { input, output } = usageOf(told);
  return { ...modelOf(told), [A.inputTokens]: input, [A.outputTokens]: output };
}
