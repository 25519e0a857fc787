import { defineOptions } from "@stemma/model";
import type { PrepareTurnOptions, Session, SessionTools } from "@stemma/session";
import { assertAnySession, PREPARE_TURN, StepUpdates } from "@stemma/session";
import { convertToModelMessages, type ModelMessage, type ToolSet, type UIMessage } from "ai";
import { type ProviderName, providerName } from "./lint/known-providers.js";
import { repairInPieces } from "./lint/lint.js";
import { stepResults } from "./lint/outputs.js";
import { modelMessages } from "./message/model-messages.js";
import { assertForgetful } from "./middleware/remembering-models.js";

export interface SessionMemoryOptions extends PrepareTurnOptions {
  /** The model that is to be asked, or its provider's name: its messages are repaired for it. Default: as any provider takes them. */
  model?: ProviderName | undefined;
  /** The other tools of the request: what they say of their results is sent as they say it. */
  tools?: ToolSet | undefined;
}

const OPTIONS = defineOptions<SessionMemoryOptions>({ ...PREPARE_TURN.checks, model: providerName });

/** Options of `generateText`, `streamText` and `ToolLoopAgent` that are made of a session. */
export interface SessionMemory {
  /** The frozen prompt; missing when the session has no blocks. */
  readonly system?: string;
  /** The system prompt by the name that `ToolLoopAgent` has for it. */
  readonly instructions?: string;
  /** The visible history, with what is told behind the user's messages. */
  readonly messages: ModelMessage[];
  /** The session's tools, and those that were given. */
  readonly tools: ToolSet;
  /** Tells the model before each further step what others changed in the blocks meanwhile. */
  readonly prepareStep: PrepareStep;
}

export type PrepareStep = (step: {
  readonly stepNumber: number;
  readonly messages: ModelMessage[];
}) => Promise<{ messages?: ModelMessage[] }>;

/**
 * The next turn of a session, for your own call of the AI SDK. Append the user's message first, and store the answer when it
 * is there; `receive` and `respond` do both. Options and errors are those of `session.prepareTurn`; it can also fail as
 * `convertToModelMessages` of the AI SDK does.
 */
export async function sessionMemory(session: Session, options: SessionMemoryOptions = {}): Promise<SessionMemory> {
  assertAnySession(session, "sessionMemory()");
  OPTIONS.assert(options, "sessionMemory()");
  const { model = "any", tools: own = {}, ...turn } = options;
  assertForgetful(model, "sessionMemory()");
  const { system, messages, tools, update } = await session.prepareTurn<UIMessage>({ ...turn, tools: own });
  const all: ToolSet = { ...(tools as SessionTools), ...own };
  const accepted = await repairInPieces(messages, model, { tools: all });
  return {
    ...(system === "" ? {} : { system, instructions: system }),
    messages: await modelMessages(convertToModelMessages, accepted, { tools: all }),
    tools: all,
    prepareStep: stepUpdates(update, model),
  };
}

/** A `prepareStep` that tells what `update` gives, and sends what tools gave as the model takes it. */
export function stepUpdates(update: () => Promise<string | null>, model: ProviderName): PrepareStep {
  const updates = new StepUpdates(update, stepResults(model));
  return async ({ stepNumber, messages }) => {
    const updated = await updates.before<ModelMessage>(stepNumber, messages);
    return updated === null ? {} : { messages: updated };
  };
}
