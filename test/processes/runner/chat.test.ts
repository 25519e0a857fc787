// The chat as a process, which each test starts, talks to and ends.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { patience } from "../../helpers/patience.js";
import { bundle } from "../../runner/bundle.js";
import { talkingServer } from "../../runner/talking-server.js";

let program: string;
let folder: string;
let server: Awaited<ReturnType<typeof talkingServer>>;
const children: ChildProcess[] = [];

beforeAll(async () => {
  program = join(await bundle("chat", ["test/runner/chat-main.ts"]), "chat-main.mjs");
});
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "stemma-chat-"));
  server = await talkingServer();
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Starts a chat with the model of `server`, and says something. */
function say(line: string) {
  const env = { ...process.env, STEMMA_MODEL: "", STEMMA_MODEL_BASE_URL: "", STEMMA_SKILLS: "", STEMMA_USER: "ada" };
  const argv = [program, "chat", "--db", join(folder, "chat.db"), "--model", "m", "--base-url", server.url];
  const child = spawn(process.execPath, argv, { cwd: folder, env });
  children.push(child);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (output += text));
  child.stdin.write(`${line}\n`);
  return {
    child,
    ended: new Promise<number | null>((resolve) => child.once("close", (code) => resolve(code))),
    shows: (text: string) => vi.waitFor(() => expect(output).toContain(text), patience(15_000)),
  };
}

it("ends a turn at Ctrl-C with a valid history, and the chat at the second", async () => {
  const { child, ended, shows } = say("Tell me a story");
  (await server.next()).say("Once upon a time");
  await shows("Once upon");
  child.kill("SIGINT");
  await shows("(aborted; what was finished is kept)");
  child.kill("SIGINT");
  expect(await ended).toBe(130);
  const next = say("Go on");
  const talk = await server.next();
  talk.end("The end.");
  await next.shows("The last turn was interrupted");
  expect(talk.request.messages.map(({ role }) => role)).toEqual(["system", "user", "assistant", "user"]);
});

it("goes on after kill -9 in the middle of an answer", async () => {
  const { child, ended, shows } = say("Tell me a story");
  (await server.next()).say("Once upon a time");
  await shows("Once upon");
  child.kill("SIGKILL");
  await ended;
  const next = say("/retry");
  (await server.next()).end("The end.");
  await next.shows("The last turn was interrupted");
  await next.shows("The end.");
});
