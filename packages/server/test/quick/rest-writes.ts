// Every route that writes, as the document has it, and a state on which each has something to do.

import document from "../../openapi.json" with { type: "json" };
import { said } from "./rest-helpers.js";

/** A request that writes. */
export interface RestWrite {
  /** As the document has it. */
  readonly route: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  /** The path; `compaction` is the id of a compaction. */
  pathWith(compaction: string): string;
}

/** Values of fields that a body must have, by their names. */
const VALUES: Readonly<Record<string, unknown>> = {
  name: "A name",
  messages: [said("m3")],
  message: said("m4"),
  ids: ["m2"],
  messageId: "m1",
  summary: "A summary",
  fromMessageId: "m1",
  toMessageId: "m1",
  inputTokens: 1,
  outputTokens: 1,
  content: "New text",
  append: "More text",
  maxTokens: 100,
  version: 1,
  query: "words",
  operations: [
    { op: "appendMessages", session: "chat", messages: [said("m5")] },
    { op: "setRecord", session: "chat", label: "facts", key: "k2", value: 2 },
    { op: "addUsage", session: "chat", inputTokens: 1, outputTokens: 1 },
  ],
  input: { label: "memory", content: "Likes tea.", action: "append" },
};

/** What a schema does not ask for, and a route does. */
const BODIES: Readonly<Record<string, object>> = {
  "PATCH /v1/sessions/{session}": { name: "Another name" },
  "PUT /v1/sessions/{session}/messages/{message}": said("m1", "Another text"),
  "PUT /v1/sessions/{session}/records/{label}/{key}": { value: { n: 2 } },
};

/** Each but those of keys and tokens: these are shown once, and a second one is made for who asks again. */
export const WRITES: readonly RestWrite[] = Object.entries(document.paths).flatMap(([path, methods]) =>
  // biome-ignore lint/suspicious/noExplicitAny: a document.
  Object.entries<any>(methods).flatMap(([name, operation]): RestWrite[] => {
    if (operation["x-access"] !== "write" || /^\/v1\/(keys|tokens)/.test(path)) return [];
    const method = name.toUpperCase();
    const route = `${method} ${path}`;
    const content = operation.requestBody?.content ?? {};
    const [type] = Object.keys(content);
    const required: readonly string[] = content["application/json"]?.schema?.required ?? [];
    const fields = Object.fromEntries(required.map((field) => [field, VALUES[field]]));
    const json = { ...fields, ...BODIES[route] };
    return [
      {
        route,
        method,
        headers: type === undefined ? {} : { "content-type": type },
        body:
          type === undefined
            ? undefined
            : type === "application/json"
              ? JSON.stringify(json)
              : `${JSON.stringify(said("m9"))}\n`,
        pathWith: (compaction) =>
          path
            .replace("{session}", "chat")
            .replace("{message}", "m1")
            .replace("{owner}", "user%3Aada")
            .replace("{label}", path.includes("/blocks/") ? "notes" : "facts")
            .replace("{key}", "k")
            .replace("{user}", "ada")
            .replace("{tool}", "set_context")
            .replace("{compaction}", compaction),
      },
    ];
  }),
);

/** Their answers tell of the state that they find, too: what is left to erase, whether the prompt was there, what is new, what was learned. */
export const TELLING: readonly string[] = [
  "DELETE /v1/users/{user}",
  "POST /v1/sessions/{session}/turn",
  "POST /v1/sessions/{session}/import",
  "POST /v1/sessions/{session}/learn",
];

type Ask = (method: string, path: string, sent: { readonly json: unknown }) => Promise<unknown>;

/** Writes what the routes are asked on. */
export async function prepareWrites(ask: Ask): Promise<void> {
  await ask("POST", "/v1/sessions", { json: { id: "chat", name: "Chat", userId: "ada" } });
  await ask("POST", "/v1/sessions/chat/messages", { json: { messages: [said("m1"), said("m2")] } });
  await ask("PUT", "/v1/sessions/chat/records/facts/k", { json: { value: { n: 1 } } });
  await ask("PUT", "/v1/memory/user%3Aada/blocks/notes", { json: { content: "text" } });
  await ask("PUT", "/v1/memory/user%3Aada/entries/facts/k", { json: { content: "Likes figs." } });
}

/** A compaction for the routes that need one. */
export const COMPACTION = { summary: "Sum", fromMessageId: "m1", toMessageId: "m1" };
