import { codeOf, files, syncDirectoryOf, writeDraft } from "@stemma/model/files";

/** How long a writer that seems to be alive is waited for, in milliseconds. A commit takes a moment. */
const PATIENCE = 5000;

/** A file that several processes write, one after the other. */
export interface SharedFile {
  readonly path: string;
  /** The start of the names of drafts beside it, path included: `<directory>/.<name>.` */
  readonly draftPrefix: string;
  readonly patience?: number | undefined;
}

/**
 * Replaces the file whole and on the disk, or not at all. `check` looks at the file as it is when nobody else can replace
 * it any more, and throws when it must not be. Resolves to what tells this version of the file from every other.
 *
 * A writer (1) writes its draft, under a name that is never used again, (2) lists the drafts and removes those of others,
 * until it finds none that it would rather wait for, (3) checks, (4) renames its draft over the file. A writer whose draft
 * was removed fails at (4) and starts anew. Take A and B with A's check before B's rename and B's rename before A's. Either
 * B's draft was there when A last listed: then A removed it before its check, and B's later rename failed. Or it was not:
 * then B listed after A did, while A's draft was there, and removed it before its own rename, so that A's later one
 * failed. So no file is replaced by someone who checked an earlier one, whoever is killed or stopped and whenever.
 * Whether a writer is alive only decides how long it is waited for.
 */
export async function commitFile(
  file: SharedFile & { readonly text: string; check(): Promise<void> },
): Promise<FileVersion> {
  const { rename, rm } = await files();
  const place = Date.now();
  for (;;) {
    const draft = file.draftPrefix + (await draftName({ place }));
    const { size, mtimeNs, ino } = await writeDraft(draft, file.text, { mode: 0o600 });
    try {
      await excludeOthers(draft, file);
      await file.check();
      await rename(draft, file.path);
    } catch (error) {
      await rm(draft, { force: true });
      if (!isRemovedDraft(error)) throw error;
      // Most often the other one has replaced the file by now: no need to write this text again.
      await file.check();
      continue;
    }
    await syncDirectoryOf(file.path);
    return { size, mtimeNs, ino };
  }
}

/** Tells a file from the one that stood there before: an edit in place changes it as well. */
export interface FileVersion {
  readonly size: bigint;
  readonly mtimeNs: bigint;
  readonly ino: bigint;
}

/** Removes the file. A writer that has checked it before does not bring it back. `check` as for `commitFile`. */
export async function removeFile(file: SharedFile & { check(): Promise<void> }): Promise<void> {
  const { access, rm } = await files();
  const draft = file.draftPrefix + (await draftName());
  await writeDraft(draft, "", { mode: 0o600 });
  try {
    await excludeOthers(draft, file);
    await file.check();
    // Gone when this process was stopped for so long that another one took it for dead: then that one's turn came first.
    await access(draft);
    await rm(file.path, { force: true });
  } finally {
    await rm(draft, { force: true });
  }
  await syncDirectoryOf(file.path);
}

/** Removes what processes left behind that died. */
export async function clearDrafts({ draftPrefix }: SharedFile): Promise<void> {
  const { rm } = await files();
  for (const draft of await draftsOf(draftPrefix)) if (!(await isAlive(draft))) await rm(draft, { force: true });
}

// Older drafts are waited for, so that writers take turns.
async function excludeOthers(own: string, { draftPrefix, patience = PATIENCE }: SharedFile): Promise<void> {
  const { rm } = await files();
  const end = performance.now() + patience;
  for (let pause = 1; ; pause = Math.min(2 * pause, 20)) {
    let waiting = false;
    for (const draft of await draftsOf(draftPrefix)) {
      if (draft === own) continue;
      if (draft < own && performance.now() < end && (await isAlive(draft))) waiting = true;
      else await rm(draft, { force: true });
    }
    if (!waiting) return;
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

function isRemovedDraft(error: unknown): boolean {
  return codeOf(error) === "ENOENT" && (error as { syscall?: unknown }).syscall === "rename";
}

async function draftsOf(draftPrefix: string): Promise<string[]> {
  const { readdir } = await files();
  const slash = draftPrefix.lastIndexOf("/");
  const [directory, start] = [draftPrefix.slice(0, slash), draftPrefix.slice(slash + 1)];
  const names = await readdir(directory);
  return names
    .filter((name) => name.startsWith(start) && DRAFT.exec(name)?.index === start.length)
    .map((name) => `${directory}/${name}`);
}

const DRAFT = /([0-9a-z]{9})-([0-9a-f]{8})~(\d+)\.[0-9a-f]{12}\.tmp$/;

/** The name of a draft: when its writer began, its host and process, and what tells it from their others. At most 46 bytes. */
export async function draftName({ place = Date.now(), pid = currentProcess().pid } = {}): Promise<string> {
  const began = place.toString(36).padStart(9, "0");
  return `${began}-${await hostMark()}~${pid}.${crypto.randomUUID().slice(-12)}.tmp`;
}

// Host names may be longer than a file name has room for.
async function hostMark(): Promise<string> {
  const [{ hostname }, { createHash }] = await Promise.all([import("node:os"), import("node:crypto")]);
  return createHash("sha256").update(hostname()).digest("hex").slice(0, 8);
}

// Of a process on another machine nothing is known.
async function isAlive(draft: string): Promise<boolean> {
  const [, began = "", host, pid] = DRAFT.exec(draft) ?? [];
  if (host !== (await hostMark())) return true;
  const process = currentProcess();
  // Where a process is started anew, as in a container, it often has the number of the one before.
  if (Number(pid) === process.pid) return Number.parseInt(began, 36) >= Date.now() - process.uptime() * 1000;
  try {
    process.kill(Number(pid), 0);
    return true;
  } catch (error) {
    return codeOf(error) !== "ESRCH";
  }
}

function currentProcess(): { pid: number; kill(pid: number, signal: number): void; uptime(): number } {
  return (globalThis as unknown as { process: ReturnType<typeof currentProcess> }).process;
}
