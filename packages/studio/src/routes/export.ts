import { findExportFormat } from "@stemma/formats";
import { respond } from "../http/failure.js";
import { read, type StudioCall, sessionOf } from "../route.js";

/** Formats by name, with the ending of the file and its content type. */
const FILES = {
  jsonl: { ending: "jsonl", type: "application/jsonl; charset=utf-8" },
  markdown: { ending: "md", type: "text/markdown; charset=utf-8" },
  html: { ending: "html", type: "text/html; charset=utf-8" },
} as const;

export const exportRoutes = [read("export", exportSession)];

async function exportSession(call: StudioCall): Promise<Response> {
  const info = await sessionOf(call);
  const format = call.fields.oneOf("format", ["jsonl", "markdown", "html"]);
  const { ending, type } = FILES[format];
  const name =
    info.id
      .replace(/[^\w.-]+/g, "-")
      .replace(/^\.+/, "")
      .slice(0, 80) || "session";
  return respond(textStream(findExportFormat(format).write(call.store, info)), {
    headers: { "content-type": type, "content-disposition": `attachment; filename="${name}.${ending}"` },
  });
}

/** Reads on as the receiver takes more, and stops where it leaves. */
function textStream(pieces: AsyncIterable<string>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const iterator = pieces[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await iterator.next();
      if (done) controller.close();
      else controller.enqueue(encoder.encode(value));
    },
    async cancel() {
      await iterator.return?.();
    },
  });
}
