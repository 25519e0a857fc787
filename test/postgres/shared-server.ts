import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Engine, type Server, startServer } from "./engines.js";
import { runFolder, type SharedServer } from "./run-folder.js";

/** The one server of an engine that all files of a run share: the first that asks starts it, the end of the run stops it. */
export async function sharedServer(engine: Engine): Promise<Pick<Server, "urlFor">> {
  const place = join(runFolder(), engine.name.replace(/\W+/g, "-"));
  const record = `${place}/server.json`;
  if (isFirst(place)) {
    try {
      const { port, pid, folder } = await startServer(engine);
      writeFileSync(`${record}.part`, JSON.stringify({ port, pid, folder } satisfies SharedServer));
      renameSync(`${record}.part`, record);
    } catch (error) {
      writeFileSync(`${place}/failed`, String(error));
      throw error;
    }
  }
  while (!existsSync(record)) {
    if (existsSync(`${place}/failed`)) throw new Error(readFileSync(`${place}/failed`, "utf8"));
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const { port } = JSON.parse(readFileSync(record, "utf8")) as SharedServer;
  return { urlFor: (role, database = "postgres") => `postgres://${role}@127.0.0.1:${port}/${database}` };
}

function isFirst(place: string): boolean {
  try {
    mkdirSync(place);
    return true;
  } catch {
    return false;
  }
}
