import type { FileHandle } from "node:fs/promises";

// Loaded with the first call, so that what uses this can be imported where there is no file system.
export const files = () => import("node:fs/promises");

/** A claim this old, in milliseconds, is no longer anybody's: a commit takes a moment. */
const ABANDONED = 60_000;

/** A file to be written in place of another, by one process only. */
export interface Commit {
  /** Of the file to be written. */
  readonly path: string;
  /** What the files beside it start with while it is written. */
  readonly workPrefix: string;
  readonly version: number;
  readonly text: string;
  /** Looks at the present file. Throws when it must not be replaced. */
  check(): Promise<void>;
}

/**
 * Replaces a file by a version of it, whole and on the disk, or not at all. Resolves to false when another process is
 * writing this very version.
 *
 * The text goes into a temporary file, which is then linked under the name of the version: one process only can do that.
 * After a last look at the present file the link is renamed over it. Nothing but a process that holds the version's name
 * ever replaces the file, so none is replaced by an older one. What a process left behind that died in between counts for
 * nothing, and is cleared away by the next writer.
 */
export async function commitFile({ path, workPrefix, version, text, check }: Commit): Promise<boolean> {
  const { link, open, rename, rm } = await files();
  const temporary = `${workPrefix}${await temporaryName()}`;
  const claim = `${workPrefix}${version}.next`;
  const file = await open(temporary, "wx", 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
    while (!(await succeeds(link(temporary, claim), "EEXIST"))) {
      if (!(await clearAway(claim, workPrefix))) return false;
    }
    try {
      await check();
    } catch (error) {
      await rm(claim, { force: true });
      throw error;
    }
    // The claim is gone only if this process was taken for dead.
    if (!(await succeeds(rename(claim, path), "ENOENT")) && !(await isSameFile(file, path))) return false;
  } finally {
    await file.close();
    await rm(temporary, { force: true });
  }
  await syncDirectory(path);
  return true;
}

/** Removes what processes left behind that died. */
export async function clearTemporaries(workPrefix: string): Promise<void> {
  const { rm } = await files();
  for (const temporary of await workFiles(workPrefix, ".tmp")) {
    if (!(await isDead(temporary))) continue;
    // The claim first: without its temporary file nobody could tell whose it is.
    for (const claim of await workFiles(workPrefix, ".next")) {
      if (await areLinked(claim, temporary)) await rm(claim, { force: true });
    }
    await rm(temporary, { force: true });
  }
}

// True when the claim was, or is now, nobody's.
async function clearAway(claim: string, workPrefix: string): Promise<boolean> {
  const { rm, stat } = await files();
  const held = await stat(claim).catch(() => null);
  if (held === null) return true;
  let dead = Date.now() - held.ctimeMs > ABANDONED;
  for (const temporary of await workFiles(workPrefix, ".tmp")) {
    // This is the process that made the claim.
    if (await areLinked(claim, temporary)) dead ||= await isDead(temporary);
  }
  if (dead) await rm(claim, { force: true });
  return dead;
}

async function workFiles(workPrefix: string, ending: string): Promise<string[]> {
  const { readdir } = await files();
  const slash = workPrefix.lastIndexOf("/");
  const [directory, start] = [workPrefix.slice(0, slash), workPrefix.slice(slash + 1)];
  const names = await readdir(directory).catch(() => []);
  return names.filter((name) => name.startsWith(start) && name.endsWith(ending)).map((name) => `${directory}/${name}`);
}

/** The name of a temporary file: its host and process, then what tells it from their others. At most 34 bytes. */
export async function temporaryName(pid = currentProcess().pid): Promise<string> {
  return `${await hostMark()}~${pid}.${crypto.randomUUID().slice(-12)}.tmp`;
}

// Host names may be longer than a file name has room for.
async function hostMark(): Promise<string> {
  const [{ hostname }, { createHash }] = await Promise.all([import("node:os"), import("node:crypto")]);
  return createHash("sha256").update(hostname()).digest("hex").slice(0, 8);
}

// Of a process on another machine nothing is known.
async function isDead(temporary: string): Promise<boolean> {
  const [host, pid] = /([0-9a-f]{8})~(\d+)\.[0-9a-f]{12}\.tmp$/.exec(temporary)?.slice(1) ?? [];
  if (pid === undefined || host !== (await hostMark())) return false;
  try {
    currentProcess().kill(Number(pid), 0);
    return false;
  } catch (error) {
    return codeOf(error) === "ESRCH";
  }
}

function currentProcess(): { pid: number; kill(pid: number, signal: number): void } {
  return (globalThis as unknown as { process: ReturnType<typeof currentProcess> }).process;
}

/** True for two names of one file. */
async function areLinked(a: string, b: string): Promise<boolean> {
  const { stat } = await files();
  const [one, other] = await Promise.all([a, b].map((name) => stat(name).catch(() => null)));
  return one != null && other != null && one.ino === other.ino && one.dev === other.dev;
}

async function isSameFile(file: FileHandle, path: string): Promise<boolean> {
  const { stat } = await files();
  const [mine, stored] = await Promise.all([file.stat(), stat(path).catch(() => null)]);
  return stored !== null && stored.ino === mine.ino && stored.dev === mine.dev;
}

// Without it the new name may be lost with the power.
async function syncDirectory(path: string): Promise<void> {
  const { open } = await files();
  const directory = await open(path.slice(0, path.lastIndexOf("/")), "r").catch(() => null);
  // Windows cannot, and need not.
  await directory?.sync().catch(() => {});
  await directory?.close();
}

/** False when it fails with this code. */
async function succeeds(work: Promise<unknown>, code: string): Promise<boolean> {
  try {
    await work;
    return true;
  } catch (error) {
    if (codeOf(error) === code) return false;
    throw error;
  }
}

export function codeOf(error: unknown): unknown {
  return (error as { code?: unknown } | null)?.code;
}
