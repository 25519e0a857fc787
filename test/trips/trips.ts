import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { collect } from "../../packages/conformance/src/samples.js";
import { readSessionFile } from "../../packages/formats/src/read.js";
import { copyStore, exportStore } from "../../packages/stemma/src/copy.js";
import { jsonlFiles } from "../../packages/stemma/src/copy-node.js";
import { importSession } from "../../packages/stemma/src/formats.js";
import { redactStore } from "../../packages/stemma/src/session.js";
import type { Store } from "../../packages/store/src/contract/store.js";
import { sqlite } from "../../packages/store/src/sqlite.js";

/** A folder for the files of a run; whoever makes it removes it. */
export const newFolder = () => mkdtempSync(join(tmpdir(), "stemma-trips-"));

/** Brings all of a store to an empty one. */
export type Trip = (from: Store, to: Store, folder: string) => Promise<void>;

/** Every way from one store to another. */
export const TRIPS: Readonly<Record<string, Trip>> = {
  copy: (from, to) => copied(from, to),
  "copy through a redact that changes nothing": (from, to) =>
    copied(
      redactStore(from, (text) => text),
      redactStore(to, (text) => text),
    ),
  "a folder of lines": async (from, to, folder) => {
    await copied(from, jsonlFiles(join(folder, "lines")));
    await copied(jsonlFiles(join(folder, "lines")), to);
  },
  "export and import": async (from, to, folder) => {
    const path = join(folder, "all.jsonl");
    writeFileSync(path, (await collect(exportStore(from))).join(""));
    for await (const session of readSessionFile(path)) {
      expect((await importSession(to, session))?.skipped ?? session.skipped).toEqual([]);
    }
  },
};

/** A backup of a store in a file, opened. */
export async function backedUp(from: Store, folder: string): Promise<Store> {
  const path = join(folder, "backup.db");
  await from.backup(path);
  return sqlite(path);
}

async function copied(...[from, to]: Parameters<typeof copyStore>): Promise<void> {
  const { parts } = await copyStore(from, to);
  expect(parts.filter(({ problem }) => problem !== undefined)).toEqual([]);
}
