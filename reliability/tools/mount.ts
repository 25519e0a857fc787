import { execFileSync } from "node:child_process";
import { closeSync, mkdirSync, openSync, rmSync, statfsSync, writeSync } from "node:fs";
import { join } from "node:path";

/** A file system in memory of so many kilobytes. */
export interface SmallDisk {
  readonly path: string;
  /** Fills it up to so many bytes. */
  leave(bytes: number): void;
  /** Frees it again. */
  free(): void;
  unmount(): void;
}

export function mountDisk(folder: string, kilobytes: number): SmallDisk {
  const path = join(folder, "disk");
  mkdirSync(path, { recursive: true });
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${kilobytes}k,mode=777`, "stemma", path], { stdio: "pipe" });
  const ballast = join(path, "ballast");
  return {
    path,
    leave(bytes) {
      const { bavail, bsize } = statfsSync(path);
      const file = openSync(ballast, "w");
      const chunk = Buffer.alloc(4096);
      for (let left = bavail * bsize - bytes; left >= chunk.length; left -= chunk.length) writeSync(file, chunk);
      closeSync(file);
    },
    free: () => rmSync(ballast, { force: true }),
    unmount: () => execFileSync("umount", ["--lazy", path], { stdio: "pipe" }),
  };
}
