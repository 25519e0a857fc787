import type { McpServer, Resource } from "@modelcontextprotocol/server";
import { StemmaError } from "../errors.js";
import { sendable, sendableText } from "../model/sendable.js";
import { jsonTokens, roomOf, shortened } from "./budget.js";
import { cursorOf, positionOf } from "./cursor.js";
import { placeOf, readDocument, sessionTitle, titleOf } from "./documents.js";
import { ABSENT, messageOf } from "./failure.js";
import { parseId, type Ref, uriOf } from "./ids.js";
import { filterOf, hasLabel, type McpScope } from "./scope.js";
import type { McpSdk } from "./sdk.js";
import { readEnd } from "./transcript.js";
import type { ResourceWatcher } from "./watcher.js";

const PAGE = 50;
const MIME_TYPE = "text/plain";
const QUESTION = ["resources"];

const TEMPLATES = [
  ["session", "stemma://session/{session}", "A conversation", "The newest messages of a conversation."],
  ["message", "stemma://session/{session}/message/{message}", "A message", "One message of a conversation."],
  [
    "session-block",
    "stemma://session/{session}/block/{label}",
    "A block of a conversation",
    "What a conversation's model keeps for itself.",
  ],
  ["block", "stemma://block/{label}", "A block", "A block of the memory."],
  ["entry", "stemma://entry/{label}/{key}", "An entry", "Something that was remembered."],
] as const;

/** What of the SDK the resources need. */
type Errors = Pick<McpSdk, "ResourceNotFoundError">;

/** Serves sessions and blocks as resources. With a watcher a client can subscribe to them. */
export function registerResources(
  { server }: McpServer,
  scope: McpScope,
  { ResourceNotFoundError }: Errors,
  watcher: ResourceWatcher | null,
): void {
  const told = (error: unknown) => new Error(messageOf(error, scope.onError));
  server.registerCapabilities({ resources: { subscribe: watcher !== null, listChanged: false } });
  server.setRequestHandler("resources/list", async ({ params }) => {
    try {
      return sendable(await listResources(scope, params?.cursor));
    } catch (error) {
      throw told(error);
    }
  });
  server.setRequestHandler("resources/templates/list", () => ({
    resourceTemplates: TEMPLATES.map(([name, uriTemplate, title, description]) => {
      return { name, uriTemplate, title, description, mimeType: MIME_TYPE };
    }),
  }));
  server.setRequestHandler("resources/read", async ({ params: { uri } }) => {
    try {
      return { contents: [{ uri, mimeType: MIME_TYPE, text: sendableText(await readText(scope, parseId(uri))) }] };
    } catch (error) {
      const isMissing = StemmaError.isInstance(error) && NOT_FOUND.includes(error.code);
      throw isMissing ? new ResourceNotFoundError(uri, error.message) : told(error);
    }
  });
  if (watcher === null) return;
  server.setRequestHandler("resources/subscribe", async ({ params: { uri } }) => {
    try {
      await watcher.watch(uri);
      return {};
    } catch (error) {
      throw told(error);
    }
  });
  server.setRequestHandler("resources/unsubscribe", ({ params: { uri } }) => {
    watcher.unwatch(uri);
    return {};
  });
}

const NOT_FOUND: readonly string[] = [...ABSENT, "INVALID_ARGUMENT"];

// The blocks come first; then the conversations, the latest changed first.
async function listResources(scope: McpScope, cursor: string | undefined) {
  const position = positionOf(QUESTION, cursor);
  const blocks = position === null ? await scope.store.blocks.list(scope.owner) : [];
  const page = await scope.store.sessions.list({ ...filterOf(scope), limit: PAGE, cursor: position ?? undefined });
  const resources: Resource[] = [
    ...blocks
      .filter(({ label }) => hasLabel(scope, label))
      .map(({ label }) => resourceOf({ kind: "block", label }, titleOf(label), "A block of the memory.")),
    ...page.sessions.map((info) =>
      resourceOf(
        { kind: "session", session: info.id },
        sessionTitle(info),
        `A conversation, last changed ${info.updated_at}.`,
      ),
    ),
  ];
  return page.nextCursor === null ? { resources } : { resources, nextCursor: cursorOf(QUESTION, page.nextCursor) };
}

function resourceOf(ref: Ref, title: string, description: string): Resource {
  return { uri: uriOf(ref), name: placeOf(ref).id, title, description, mimeType: MIME_TYPE };
}

async function readText(scope: McpScope, ref: Ref): Promise<string> {
  const room = roomOf(scope.maxTokens);
  const { text } = await (ref.kind === "session" ? readEnd(scope, ref, room) : readDocument(scope, ref));
  return jsonTokens(text) <= room ? text : shortened(text, room);
}
