import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";

import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { buildCommand, temporaryFolder } from "../../cli/run.js";
import { fillSample } from "../../studio/sample.js";

const folder = temporaryFolder();
let program: string;
const db = join(folder, "sample.db");

beforeAll(async () => {
  program = await buildCommand(folder);
  const store = sqlite(db);
  await fillSample(store);
  await store.close();
});

async function firstLines(child: ChildProcess, count: number): Promise<string[]> {
  let text = "";
  for await (const chunk of child.stdout ?? []) {
    text += chunk;
    const lines = text.split("\n");
    if (lines.length > count) return lines.slice(0, count);
  }
  throw new RangeError(`It ended after ${text}`);
}

describe("stemma studio as a process", () => {
  it.each(["SIGINT", "SIGTERM"] as const)("prints a link that opens it, and ends with %s", async (signal) => {
    const child = spawn(process.execPath, [program, "studio", "--db", db, "--port", "0"]);
    const [about, link, hint] = await firstLines(child, 3);
    expect(about).toBe(`${db}, read only`);
    expect(hint).toBe("Ctrl-C ends it.");
    const response = await fetch(link ?? "", { redirect: "manual" });
    const cookie = response.headers.get("set-cookie")?.split(";")[0] ?? "";
    const info = await fetch(new URL("/api/info", link), { headers: { cookie } });
    expect(await info.json()).toMatchObject({ store: "sqlite", sessions: 3 });
    child.kill(signal);
    expect(await once(child, "exit")).toEqual([0, null]);
  });
});
