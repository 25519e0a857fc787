import { mkdtempSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const IN_MEMORY = "/dev/shm";

/** What all files of a conformance suite take, and some more. */
const ROOM = 2 ** 31;

/** A new folder for files that need not outlive the machine: in its memory where there is room, since a disk is waited for. */
export function makeFastFolder(): string {
  return mkdtempSync(join(hasRoom() ? IN_MEMORY : tmpdir(), "stemma-"));
}

function hasRoom(): boolean {
  try {
    const { bavail, bsize } = statfsSync(IN_MEMORY);
    return bavail * bsize > ROOM;
  } catch {
    return false;
  }
}
