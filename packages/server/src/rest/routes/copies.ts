import { z } from "@hono/zod-openapi";
import { invalid, StemmaError } from "@stemma/model";
import { assertMediaType } from "../body.js";
import { assertThere, type Call, json, type Routes } from "../route.js";
import { text } from "../schemas.js";
import { textStream } from "../streams.js";

const PATH = "/v1/sessions/{session}";
const LINES = ["application/x-ndjson"] as const;
const FILE = /^(application\/(x-ndjson|jsonl|json)|text\/plain)\s*(;|$)/i;
const TYPES: Readonly<Record<string, string>> = {
  jsonl: "application/x-ndjson; charset=utf-8",
  markdown: "text/markdown; charset=utf-8",
  html: "text/html; charset=utf-8",
  openai: "application/x-ndjson; charset=utf-8",
  pi: "application/x-ndjson; charset=utf-8",
};

export function copyRoutes(routes: Routes, maxBodyBytes: number): void {
  routes.add(
    "get",
    `${PATH}/export`,
    {
      access: "read",
      summary: "Export a session",
      description: "`jsonl`, the default, has everything; the import makes an equal session of it.",
      query: { format: z.enum(["jsonl", "markdown", "html", "openai", "pi"]).optional() },
      answers: { 200: { "application/x-ndjson": text, "text/markdown": text, "text/html": text } },
    },
    async ({ store, ids, query: { format = "jsonl" } }) => {
      await assertThere(store, ids.session);
      const { exportSession } = await import("@stemma/formats");
      return textStream(exportSession(store, ids.session, format), TYPES[format] ?? "");
    },
  );

  routes.add(
    "post",
    `${PATH}/import`,
    {
      access: "write",
      isDoneOnce: false,
      summary: "Import a session",
      description:
        "A file of one session, of this library or of another program. What is stored stays as it is: a second import adds nothing. It becomes the user's of the key, whoever's it was.",
      query: { format: text.optional().openapi({ description: "Default: found by the first line." }) },
      streams: LINES,
      answers: { 200: z.object({ inserted: z.int(), skipped: z.int() }).openapi("Imported") },
    },
    async (call) => json(await importFile(call, maxBodyBytes)),
  );
}

async function importFile(
  { store, ids, query, request }: Call<"/v1/sessions/{session}/import", { readonly format?: string | undefined }>,
  maxBytes: number,
): Promise<{ inserted: number; skipped: number }> {
  assertMediaType(request, FILE, "application/x-ndjson");
  const [{ importSession, readItems }, { sessionsOfItems }] = await Promise.all([
    import("@stemma/formats"),
    import("@stemma/formats/programs"),
  ]);
  const items = readItems(textOf(request, maxBytes), maxBytes);
  let first: string | undefined;
  let inserted = 0;
  let skipped = 0;
  for await (const session of sessionsOfItems(items, { stem: ids.session }, query.format)) {
    first ??= session.id;
    // A long session comes in several pieces.
    if (session.id !== first || session.copy?.owner !== undefined)
      throw invalid("The file holds more than one session.");
    const report = await importSession(store, { ...session, userId: undefined }, ids.session);
    inserted += report?.inserted ?? 0;
    skipped += report?.skipped.length ?? 0;
  }
  return { inserted, skipped };
}

/** Errors: `REQUEST_TOO_LARGE`; `INVALID_TEXT` for bytes that are no UTF-8. */
async function* textOf({ body }: Request, maxBytes: number): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const decode = (bytes?: Uint8Array<ArrayBuffer>) => {
    try {
      return bytes === undefined ? decoder.decode() : decoder.decode(bytes, { stream: true });
    } catch (cause) {
      throw new StemmaError("INVALID_TEXT", {}, "The body is not UTF-8.", { cause });
    }
  };
  let size = 0;
  for await (const bytes of piecesOf(body)) {
    size += bytes.length;
    if (size > maxBytes)
      throw new StemmaError("REQUEST_TOO_LARGE", { maxBytes }, `The file is larger than ${maxBytes} bytes.`);
    yield decode(bytes);
  }
  yield decode();
}

async function* piecesOf(body: Request["body"]): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  try {
    yield* body ?? [];
  } catch (cause) {
    throw invalid("The body of the request broke off.", {}, { cause });
  }
}
