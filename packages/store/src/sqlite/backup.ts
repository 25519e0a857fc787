import { chmodSync, closeSync, existsSync, openSync } from "node:fs";
import { link, open, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { invalid, StemmaError } from "@stemma/model";
import { codeOf, syncDirectoryOf, whyNotWritten } from "@stemma/model/files";
import type { BackupOptions, BackupReport, CheckReport, Store } from "../contract/store.js";
import { run } from "../engine/operation.js";
import type { Runner } from "../engine/runner.js";

/** Files that SQLite may have put beside a file: they would be read as part of whatever takes the file's place. */
const BESIDE = ["-wal", "-shm", "-journal"];

/**
 * Copies the database of a runner to a new file: one state of it, whoever writes meanwhile. The copy is made beside `path`
 * and checked there by `openCopy`, so that what stands at `path` is whole and on the disk.
 */
export async function backupFile(
  runner: Runner,
  path: string,
  { check = true }: BackupOptions,
  openCopy: (path: string) => Store,
): Promise<BackupReport> {
  assertFree(path);
  const draft = join(dirname(path), `.${crypto.randomUUID()}.tmp`);
  try {
    // Before SQLite does: only the owner may read it.
    makeFile(draft, path);
    // A look at whether the file is still the one at its path.
    await runner.read(function* () {});
    await runner.single(() => run("VACUUM INTO ?", draft));
    const found = check ? await checkCopy(openCopy(draft)) : null;
    await sync(draft);
    await putInPlace(draft, path);
    return { path, bytes: (await stat(path)).size, check: found };
  } finally {
    for (const ending of ["", ...BESIDE]) await rm(draft + ending, { force: true });
  }
}

function assertFree(path: string): void {
  if (typeof path !== "string" || path === "" || path === ":memory:" || path.includes("\0")) {
    throw invalid("A backup is written to the path of a file.");
  }
  const taken = ["", ...BESIDE].map((ending) => path + ending).find((name) => existsSync(name));
  if (taken !== undefined) throw exists(taken);
}

function exists(path: string): StemmaError {
  const message = `"${path}" is there already, and a backup overwrites nothing. Name another file, or move that one away.`;
  return new StemmaError("FILE_EXISTS", { path }, message);
}

function makeFile(draft: string, path: string): void {
  try {
    closeSync(openSync(draft, "wx", 0o600));
    chmodSync(draft, 0o600);
  } catch (cause) {
    throw notWritten(path, cause);
  }
}

async function checkCopy(copy: Store): Promise<CheckReport> {
  try {
    const report = (await copy.check?.()) as CheckReport;
    const [first] = report.problems;
    if (first === undefined) return report;
    const message = `The database is damaged, and so would its backup be: ${first.message} Repair it with check({ repair: true }), or pass { check: false } to copy it as it is.`;
    throw new StemmaError("STORE_DAMAGED", { problems: report.problems.length, rule: first.rule }, message);
  } finally {
    await copy.close();
  }
}

async function sync(path: string): Promise<void> {
  const file = await open(path, "r+");
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

// A link takes no other file's place, which a rename would.
async function putInPlace(draft: string, path: string): Promise<void> {
  try {
    await link(draft, path);
  } catch (cause) {
    throw codeOf(cause) === "EEXIST" ? exists(path) : notWritten(path, cause);
  }
  await syncDirectoryOf(path);
}

function notWritten(path: string, cause: unknown): StemmaError {
  return new StemmaError(
    "STORE_FAILED",
    { path },
    `The backup "${path}" cannot be written: ${whyNotWritten(path, cause)}.`,
    { cause },
  );
}
