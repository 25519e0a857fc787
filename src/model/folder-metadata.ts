import type { JsonObject } from "./json-object.js";
import { nameOf } from "./storable-name.js";

/** The working directory as a session's metadata has it, and the name of its folder as the project. */
export function metadataOfFolder(cwd: unknown): JsonObject | null {
  const folder = nameOf(cwd);
  if (folder === undefined) return null;
  const project = folder
    .replace(/(?<![/\\])[/\\]+$/, "")
    .split(/[/\\]/)
    .at(-1);
  return { ...(project ? { project } : {}), cwd: folder };
}
