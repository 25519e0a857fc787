import { z } from "@hono/zod-openapi";
import { StemmaError } from "@stemma/model";
import { coreOf, type SessionTool } from "@stemma/session";
import { HttpRefusal } from "../../http/problem.js";
import type { ServerOptions } from "../../http/server-options.js";
import { assertThere, json, type Routes } from "../route.js";
import { COUNTED, MESSAGE, object, TURN_RECALL, text } from "../schemas.js";

const PATH = "/v1/sessions/{session}";

const TOOL = z
  .object({
    name: text,
    description: text,
    inputSchema: object.openapi({ description: "JSON Schema." }),
    needsApproval: z.boolean().openapi({ description: "The user may have to be asked before it is called." }),
  })
  .openapi("Tool");

const TURN = z
  .object({
    system: text,
    messages: z.array(MESSAGE),
    tools: z.array(TOOL),
    changes: z.array(text).openapi({ description: "The labels of blocks whose change this turn tells." }),
    recalled: TURN_RECALL,
    refreshed: z.union([z.literal(false), text]),
    prefixHash: text,
  })
  .openapi("Turn");

const LEARNED = z
  .object({
    messages: z.int(),
    edits: z.int(),
    usage: COUNTED,
    failed: text.nullable(),
    isMoreDue: z.boolean(),
  })
  .openapi("Learned");

export function turnRoutes(routes: Routes, { onError }: ServerOptions): void {
  routes.add(
    "post",
    `${PATH}/turn`,
    {
      access: "write",
      summary: "Prepare a request to a model",
      description:
        "All that it needs, after the user's message was appended: the frozen prompt, the history, and the tools of the blocks that the server was given. The same call gives the same request.",
      body: z.strictObject({
        messageId: text.nullable().optional(),
        cacheTtl: z.number().optional(),
        onCorrupt: z.enum(["throw", "skip"]).optional(),
        recall: z
          .strictObject({
            userId: text.optional(),
            keys: z.array(text).optional(),
            maxTokens: z.number().optional(),
            maxMs: z.int().optional(),
            rerank: z.boolean().optional(),
            threshold: z.number().optional(),
          })
          .optional(),
      }),
      answers: {
        200: TURN,
      },
    },
    async ({ sessions, store, ids, body }) => {
      await assertThere(store, ids.session);
      const { system, messages, tools, changes, recalled, refreshed, prefixHash } = await sessions
        .getSession(ids.session)
        .prepareTurn(body);
      return json({
        system,
        messages,
        tools: Object.entries(tools).map(shown),
        changes: changes.map(({ label }) => label),
        recalled,
        refreshed,
        prefixHash,
      });
    },
  );

  routes.add(
    "post",
    `${PATH}/tools/{tool}`,
    {
      access: "write",
      summary: "Run a tool that a turn gave",
      description:
        "Its refusals are answers for the model, which begin with `Error:`. Where the user is to be asked, `approved` says that they agreed.",
      body: z.strictObject({ input: object, toolCallId: text.optional(), approved: z.boolean().optional() }),
      answers: { 200: z.object({ output: text }).openapi("ToolOutput") },
    },
    async ({ sessions, store, ids, body: { input, toolCallId, approved } }) => {
      await assertThere(store, ids.session);
      const tools = await sessions.getSession(ids.session).tools();
      const tool = Object.hasOwn(tools, ids.tool) ? tools[ids.tool] : undefined;
      if (tool === undefined) throw new HttpRefusal("NOT_FOUND", "The session has no such tool.");
      if (approved !== true && tool.needsApproval?.(input) === true) {
        throw new StemmaError("TOOL_REFUSED", { toolName: ids.tool }, "Ask the user, and say that they approved.");
      }
      return json({ output: await tool.execute(input, { toolCallId }) });
    },
  );

  routes.add(
    "post",
    `${PATH}/learn`,
    {
      access: "write",
      isDoneOnce: false,
      summary: "Learn from what is new",
      description:
        "With the function that the server was given: each message once, whoever asks. `isMoreDue`: another process is at work, or something failed, of which `failed` has the code.",
      answers: {
        200: LEARNED,
      },
    },
    async ({ sessions, store, ids, requestId }) => {
      await assertThere(store, ids.session);
      const { learner } = coreOf(sessions.getSession(ids.session));
      if (learner === null) {
        throw new StemmaError("STORE_UNSUPPORTED", {}, "This server was given nothing to learn with.");
      }
      const learned = await learner.runWithin({ isHeard: true });
      const { messages = 0, edits = 0, usage = NO_USAGE, failure = null } = learned ?? {};
      if (failure !== null) onError?.(failure, requestId);
      const failed = failure === null ? null : StemmaError.isInstance(failure) ? failure.code : "INTERNAL";
      return json({ messages, edits, usage, failed, isMoreDue: learned === null || failed !== null });
    },
  );
}

const NO_USAGE = { inputTokens: 0, outputTokens: 0, cost: 0 };

function shown([name, { description, inputSchema, needsApproval }]: [string, SessionTool]) {
  return {
    name,
    description,
    inputSchema: inputSchema["~standard"].jsonSchema.input(),
    needsApproval: needsApproval !== undefined,
  };
}
