import { dirname } from "node:path";
import { reasonOf } from "../errors.js";
import { codeOf } from "./replace-file.js";

/** Why nothing can be written at a path: in words about that path, also where a file beside it was tried. */
export function whyNotWritten(path: string, error: unknown): string {
  const folder = /[/\\]$/.test(path) ? path : dirname(path);
  switch (codeOf(error)) {
    case "ENOENT":
      return `there is no folder "${folder}"`;
    case "ENOTDIR":
      return `"${folder}" is no folder`;
    case "EISDIR":
      return "it is a folder";
    case "EACCES":
      return `you may not write in "${folder}"`;
    default:
      // `ENOSPC: no space left on device, write` without the call.
      return reasonOf(error).split(",")[0] ?? "";
  }
}
