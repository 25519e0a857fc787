// `stemma mcp` in the process of its test, on streams that take the place of the process's.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { processIo } from "../../../packages/cli/src/io.js";
import { runCli } from "../../../packages/cli/src/run.js";
import { Session } from "../../../packages/stemma/src/session.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { patience } from "../../helpers/patience.js";
import { type ReplacedStreams, replaceStreams } from "../../helpers/replaced-streams.js";

let folder: string;
let streams: ReplacedStreams;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "stemma-mcp-"));
  vi.stubEnv("STEMMA_DB", undefined);
  streams = replaceStreams();
});
afterEach(() => {
  streams.restore();
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

const start = (...argv: string[]) => runCli(argv, processIo(), { version: "1.2.3" });

function send(method: string, params: object, id?: number): void {
  streams.type(`${JSON.stringify({ jsonrpc: "2.0", method, params, ...(id === undefined ? {} : { id }) })}\n`);
}

/** The answer to a request. */
async function answer(id: number): Promise<{ result: Record<string, unknown> }> {
  return vi.waitFor(() => {
    const lines = streams.output().split("\n");
    const found = lines
      .flatMap((line) => (line.startsWith("{") ? [JSON.parse(line)] : []))
      .find((each) => each.id === id);
    expect(found, streams.output()).toBeDefined();
    return found;
  }, patience(15_000));
}

it("serves one client until its input ends, on the database that a file of variables names", async () => {
  const path = join(folder, "memory.db");
  const store = sqlite(path);
  await Session.create(store).appendMessage({ id: "m", role: "user", parts: [{ type: "text", text: "I like tea" }] });
  await store.close();
  const variables = join(folder, "variables");
  writeFileSync(variables, `STEMMA_DB=${path}\n`);
  const ended = start("mcp", "--dotenv", variables, "--read-only");
  const client = { name: "a client", version: "1" };
  send("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: client }, 1);
  expect((await answer(1)).result).toMatchObject({ serverInfo: { name: "stemma" } });
  send("notifications/initialized", {});
  send("tools/call", { name: "search", arguments: { query: "tea" } }, 2);
  expect(JSON.stringify((await answer(2)).result)).toContain("I like «tea»");
  send("tools/list", {}, 3);
  expect(JSON.stringify((await answer(3)).result)).not.toContain('"name":"remember"');
  streams.end();
  expect(await ended).toBe(0);
});

it("says why a file of variables cannot be read", async () => {
  expect(await start("mcp", "--dotenv", join(folder, "nowhere"))).toBe(1);
  expect(streams.output()).toContain("The file of --dotenv cannot be read");
});
