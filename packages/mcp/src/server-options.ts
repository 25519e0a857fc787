import { assertKnownOptions, invalid, type OptionNames } from "@stemma/model";
import { assertFunction } from "@stemma/session";
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

const NAMES: OptionNames<McpServerOptions> = {
  userId: true,
  project: true,
  readOnly: true,
  maxTokens: true,
  onError: true,
};

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

/** Throws `INVALID_ARGUMENT` or `INVALID_TEXT` for options that no server can have. */
export function assertMcpOptions(options: McpServerOptions): void {
  assertKnownOptions(options, "createMcpServer()", NAMES);
  const { userId, project, onError } = options;
  if (userId !== undefined) assertUserId(userId);
  if (project !== undefined) {
    if (typeof project !== "string" || project === "") throw invalid("project must be a text that is not empty.");
    assertScope({ key: projectKey(project) });
  }
  if (onError !== undefined) assertFunction(onError, "onError");
  const tokens = budgetOf(options);
  if (!Number.isInteger(tokens) || tokens < FEWEST_TOKENS || tokens > MOST_TOKENS) {
    throw invalid(`maxTokens must be a whole number from ${FEWEST_TOKENS} to ${MOST_TOKENS}.`);
  }
}
