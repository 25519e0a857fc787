import { mkdtempSync, readdirSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const IN_MEMORY = "/dev/shm";

/** What all files of a conformance suite take, and some more. */
const ROOM = 2 ** 31;

/** A new folder for files that need not outlive the machine: in its memory where there is so much room, since a disk is waited for. */
export function makeFastFolder(room = ROOM): string {
  // Beside the other temporary files if those are there, so that whoever removes them removes this as well.
  const isThere = tmpdir().startsWith(`${IN_MEMORY}/`);
  if (!isThere) removeLeftOver();
  return mkdtempSync(join(!isThere && hasRoom(room) ? IN_MEMORY : tmpdir(), `stemma-${process.pid}-`));
}

function hasRoom(room: number): boolean {
  try {
    const { bavail, bsize } = statfsSync(IN_MEMORY);
    return bavail * bsize > room;
  } catch {
    return false;
  }
}

// A process that was killed leaves its folder, and the machine would have less and less memory.
function removeLeftOver(): void {
  try {
    for (const name of readdirSync(IN_MEMORY)) {
      const pid = /^stemma-(\d+)-/.exec(name)?.[1];
      if (pid !== undefined && !isRunning(Number(pid))) rmSync(join(IN_MEMORY, name), { recursive: true, force: true });
    }
  } catch {
    // Another user's, or a system without such a folder.
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
