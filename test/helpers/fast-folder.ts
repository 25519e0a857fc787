import { mkdtempSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const IN_MEMORY = "/dev/shm";

/** What all files of a conformance suite take, and some more. */
const ROOM = 2 ** 31;

/** A new folder for files that need not outlive the machine: in its memory where there is so much room, since a disk is waited for. */
export function makeFastFolder(room = ROOM): string {
  // Beside the other temporary files if those are there, so that whoever removes them removes this as well.
  const isThere = tmpdir().startsWith(`${IN_MEMORY}/`);
  return mkdtempSync(join(!isThere && hasRoom(room) ? IN_MEMORY : tmpdir(), "stemma-"));
}

function hasRoom(room: number): boolean {
  try {
    const { bavail, bsize } = statfsSync(IN_MEMORY);
    return bavail * bsize > room;
  } catch {
    return false;
  }
}
