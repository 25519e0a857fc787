import { check, defineOptions } from "@stemma/model";
import { assertScope, assertUserId } from "@stemma/store";

export interface McpServerOptions {
  /** Only this user's sessions and memory. Default: everybody's sessions. */
  userId?: string | undefined;
  /** Only sessions whose metadata has this `project`, and a memory of the project's own. Default: the sessions of all projects. */
  project?: string | undefined;
  /** Offer no tool that writes. Default false. */
  readOnly?: boolean | undefined;
  /** Estimated tokens of an answer at most, from 500 to 10,000. Default 4,000. */
  maxTokens?: number | undefined;
  /** Gets each error that is a fault of the server or of the database. The client is told its code only. */
  onError?: ((error: unknown) => void) | undefined;
}

const USUAL_TOKENS = 4_000;
const FEWEST_TOKENS = 500;
/** Clients refuse answers of 25,000 tokens, and an estimate can be too low by half. */
const MOST_TOKENS = 10_000;

/** Estimated tokens that an answer may have. */
export function budgetOf({ maxTokens = USUAL_TOKENS }: McpServerOptions): number {
  return maxTokens;
}

/** The key of the blocks and entries of a project. */
export function projectKey(project: string): string {
  return `project:${project}`;
}

/** What `createMcpServer` takes. Other errors: `INVALID_TEXT`. */
export const MCP_SERVER = defineOptions<McpServerOptions>({
  userId: assertUserId,
  project: (project) => {
    if (typeof project !== "string" || project === "") return "a text that is not empty";
    assertScope({ key: projectKey(project) });
  },
  readOnly: check.flag,
  maxTokens: check.whole(FEWEST_TOKENS, MOST_TOKENS),
  onError: check.callable,
});
