import type { ObjectSchema, ValueOf } from "@stemma/session";
import { createTool, type SessionTool } from "@stemma/session";
import { type Approve, demandApproval } from "./agent-tools.js";
import type { Workspace } from "./workspace.js";

/** Settings that the tools of one set share. */
export interface BuiltinSettings {
  readonly workspace: Workspace;
  /** Asked before anything is written or run; without one, that of the session. */
  readonly approve: Approve | undefined;
  /** A command's environment beside the usual. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface BuiltinCall {
  readonly workspace: Workspace;
  readonly abortSignal: AbortSignal | undefined;
}

interface CallOptions {
  readonly toolCallId?: string;
  readonly abortSignal?: AbortSignal;
  readonly approve?: Approve;
}

/** Builds a tool; one that `changes` something is off unless someone approves each call. */
export function createBuiltinTool<Schema extends ObjectSchema>(
  settings: BuiltinSettings,
  definition: {
    name: string;
    description: string;
    changes: boolean;
    input: Schema;
    run(input: ValueOf<Schema>, call: BuiltinCall): Promise<string>;
  },
): SessionTool {
  const { name, changes, run, ...rest } = definition;
  return createTool({
    ...rest,
    async run(input, options) {
      const { toolCallId = "", abortSignal, approve } = options as CallOptions;
      if (changes)
        await demandApproval({ toolName: name, toolCallId, input }, settings.approve ?? approve, abortSignal);
      return run(input, { workspace: settings.workspace, abortSignal });
    },
  });
}
