import { statSync } from "node:fs";
import type { CopiedPart, CopyReport, CopySource, CopyTarget, PartOf } from "@stemma/formats/copy";
import { copyStore, partName } from "@stemma/formats/copy";
import { jsonlFiles } from "@stemma/formats/copy-node";
import { invalid } from "@stemma/model";
import type { Store } from "@stemma/store";
import { isStore } from "@stemma/store";
import type { Command } from "commander";
import { writeJson } from "../context.js";
import type { Io } from "../io.js";
import { exitCodeOf, stoppable } from "../io.js";
import { assertOurs, hidePasswords, isThere, isUrl, openDatabase } from "../open-database.js";
import { nonEmpty } from "../options.js";
import { createProgress } from "../progress.js";
import { count, oneLine } from "../text.js";

/** Adds `stemma copy`. As JSON: a line for each session and memory, as `CopiedPart`, and `{ ok, sessions, messages }`. */
export function registerCopy(program: Command, io: Io): void {
  program
    .command("copy")
    .description(
      "Copy a whole store to another one, and compare both. Called again it goes on, and adds nothing twice.",
    )
    .argument("<from>", "a SQLite file, postgres://…, a folder of JSONL or a .jsonl file", nonEmpty)
    .argument(
      "<to>",
      "a SQLite file, postgres://…, or a folder for JSONL: one that is there, or a name that ends with /",
      nonEmpty,
    )
    .option("--no-vectors", "leave out the vectors that an embedder made")
    .addHelpText("after", "\nExit code 1 where something could not be copied, or the target holds something else.")
    .action(async (from: string, to: string, options: { vectors: boolean }, command: Command) => {
      const { json = false, schema } = command.optsWithGlobals<{ json?: boolean; schema?: string }>();
      io.saveMemory();
      const opened: Store[] = [];
      try {
        const open = (place: string): JsonlOrStore => {
          const found = openPlace(place, schema);
          if (isStore(found)) opened.push(found);
          return found;
        };
        if (!isPlace(from)) throw invalid(`There is no database or file "${hidePasswords(from)}".`, { from });
        if (!isJsonl(from)) assertOurs({ db: from });
        await copy(io, json, [open(from), open(to)], options);
      } finally {
        for (const store of opened) await store.close();
      }
    });
}

type JsonlOrStore = Store | (CopySource & CopyTarget);

async function copy(
  io: Io,
  json: boolean,
  [from, to]: [JsonlOrStore, JsonlOrStore],
  { vectors }: { vectors: boolean },
): Promise<void> {
  const progress = createProgress(io);
  let done = 0;
  const onPart = (part: CopiedPart) => {
    done += 1;
    if (json) void writeJson(io, part);
  };
  const onProgress = (of: PartOf, items: number) =>
    progress.show(`${nameOf(of)}: ${items.toLocaleString("en")} lines, ${done.toLocaleString("en")} done before`);
  try {
    await stoppable(async (signal) => {
      try {
        await tell(io, json, await copyStore(from, to, { onPart, onProgress, signal, vectors }));
      } catch (error) {
        if (!signal.aborted) throw error;
        io.writeError(`stemma: Stopped by ${signal.reason}. What was copied stays; copy again to go on.\n`);
        io.fail(exitCodeOf(signal));
      }
    });
  } finally {
    progress.end();
  }
}

async function tell(io: Io, json: boolean, { ok, sessions, messages, vectors, parts }: CopyReport): Promise<void> {
  if (!ok) io.fail();
  if (json) return writeJson(io, { ok, sessions, messages, vectors });
  // What keeps the vectors of every session out is told once.
  const reported = new Map<string, PartOf[]>();
  for (const { of, problem } of parts) {
    if (problem !== undefined) reported.set(problem.message, [...(reported.get(problem.message) ?? []), of]);
  }
  for (const [message, [of, ...others]] of reported) {
    const more = others.length > 0 ? ` and ${others.length.toLocaleString("en")} more` : "";
    io.writeError(`stemma: ${nameOf(of as PartOf)}${more}: ${oneLine(message)}\n`);
  }
  const present = parts.filter(({ state }) => state === "present").length;
  const before =
    present > 0 ? `, ${present.toLocaleString("en")} of ${parts.length.toLocaleString("en")} parts were there` : "";
  const embedded = vectors > 0 ? ` and ${count(vectors, "vector")}` : "";
  await io.write(
    `${count(sessions, "session")} with ${count(messages, "message")}${embedded} are equal on both sides${before}\n`,
  );
}

function nameOf(of: PartOf): string {
  return "session" in of ? `session ${oneLine(of.session)}` : oneLine(partName(of));
}

function openPlace(place: string, schema: string | undefined): JsonlOrStore {
  if (isJsonl(place)) return jsonlFiles(place);
  return openDatabase(schema !== undefined && isUrl(place) ? { db: place, schema } : { db: place });
}

function isJsonl(place: string): boolean {
  return /[/\\]$|\.jsonl$/i.test(place) || statSync(place, { throwIfNoEntry: false })?.isDirectory() === true;
}

function isPlace(place: string): boolean {
  return isThere({ db: place }) || statSync(place, { throwIfNoEntry: false }) !== undefined;
}
