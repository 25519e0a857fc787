import { StemmaError } from "../errors.js";
import { turnIfDue } from "../event-loop.js";
import type { MemoryOwner, SessionInfo, Store } from "../storage/contract.js";
import { toHtml } from "./html.js";
import { toMarkdown } from "./markdown.js";
import { toOpenaiInTurns } from "./openai-export.js";
import { toPiInTurns } from "./pi-export.js";
import { exportJsonl, exportMemory } from "./store-lines.js";
import { readStoredSession } from "./stored-session.js";

/** A format that can be written: one file each, listed below. */
export interface ExportFormat {
  name: string;
  about: string;
  /** The session as pieces of text, line ends included. */
  write(store: Store, session: SessionInfo): AsyncIterable<string>;
  /** The same of what is remembered outside of sessions. Missing where the format has no place for it. */
  writeMemory?(store: Store, owner: MemoryOwner): AsyncIterable<string>;
}

export const EXPORT_FORMATS: readonly ExportFormat[] = [
  {
    name: "jsonl",
    about:
      "everything: branches, summaries, active leaf, blocks, entries, versions, usage; `import` gives an equal session",
    write: (store, session) => withLineEnds(exportJsonl(store, session)),
    writeMemory: (store, owner) => withLineEnds(exportMemory(store, owner)),
  },
  { name: "markdown", about: "the visible history, to read", write: toMarkdown },
  { name: "html", about: "the visible history as a page that needs no server and runs no script", write: toHtml },
  {
    name: "openai",
    about: "the active path without summaries, as OpenAI chat messages: a line of { messages: […] }",
    async *write(store, session) {
      const { messages } = await store.session(session.id).path({ summaries: false });
      yield `${JSON.stringify(await toOpenaiInTurns(messages))}\n`;
    },
  },
  {
    name: "pi",
    about: "all branches and summaries, as a pi session file",
    async *write(store, session) {
      for (const entry of await toPiInTurns(await readStoredSession(store, session))) {
        const due = turnIfDue();
        if (due !== null) await due;
        yield `${JSON.stringify(entry)}\n`;
      }
    },
  },
];

async function* withLineEnds(lines: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const line of lines) yield `${line}\n`;
}

/** Errors: `UNKNOWN_FORMAT`. */
export function findExportFormat(name: string): ExportFormat {
  const format = EXPORT_FORMATS.find((known) => known.name === name);
  if (format !== undefined) return format;
  const names = EXPORT_FORMATS.map((known) => known.name).join(", ");
  throw new StemmaError("UNKNOWN_FORMAT", { format: name }, `There is no format "${name}". Known are: ${names}.`);
}
