import { StemmaError } from "@stemma/model";

/** Characters of a piece that is sent at once. */
const PIECE = 32_768;
/** Milliseconds after which an answer ends whose reader takes nothing of it. */
const UNREAD = 300_000;

/** True for a request that asks for all of a list, a line of JSON for each. */
export function wantsLines({ headers }: Request): boolean {
  return /\bapplication\/(x-)?ndjson\b/i.test(headers.get("accept") ?? "");
}

/** An answer of lines of JSON. */
export function lines(texts: AsyncIterable<string>): Promise<Response> {
  return textStream(texts, "application/x-ndjson; charset=utf-8");
}

/** A line of JSON for each value. */
export async function* linesOf(values: AsyncIterable<unknown>): AsyncGenerator<string> {
  for await (const value of values) yield `${JSON.stringify(value)}\n`;
}

/**
 * An answer that is read as fast as it is sent: what fails before its first piece fails the request, what fails later ends the
 * connection, and so do five minutes in which nothing is read. `piece` is how many characters are waited for before they are sent.
 */
export async function textStream(texts: AsyncIterable<string>, type: string, piece = PIECE): Promise<Response> {
  const iterator = texts[Symbol.asyncIterator]();
  let first: Promise<IteratorResult<string>> | null = Promise.resolve(await iterator.next());
  const encoder = new TextEncoder();
  let unread: ReturnType<typeof setTimeout> | undefined;
  const waitForReader = (controller: ReadableStreamDefaultController) => {
    unread = setTimeout(() => {
      controller.error(new StemmaError("CONNECTION_LOST", {}, "Nobody read the answer."));
      Promise.resolve(iterator.return?.()).catch(() => {});
    }, UNREAD);
    // A process does not stay for it. Workers have numbers.
    (unread as { unref?(): void }).unref?.();
  };
  const body = new ReadableStream<Uint8Array>(
    {
      start: waitForReader,
      async pull(controller) {
        clearTimeout(unread);
        let text = "";
        let isOver = false;
        while (text.length < piece && !isOver) {
          const next = await (first ?? iterator.next());
          first = null;
          if (next.done) isOver = true;
          else text += next.value;
        }
        if (text !== "") controller.enqueue(encoder.encode(text));
        if (isOver) controller.close();
        else waitForReader(controller);
      },
      async cancel() {
        clearTimeout(unread);
        await iterator.return?.();
      },
    },
    // Nothing is read for a reader who does not come.
    { highWaterMark: 0 },
  );
  // Proxies do not hold it back.
  const headers = { "content-type": type, "cache-control": "no-store", "x-accel-buffering": "no" };
  return new Response(body, { headers });
}
