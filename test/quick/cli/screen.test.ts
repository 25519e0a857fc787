// The screen of the chat in the process of its test: that it draws, completes and ends. What a person does with it in a real
// terminal stands in test/processes/runner/chat-screen.test.ts.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { registerChat } from "../../../packages/cli/src/chat/command.js";
import { processIo } from "../../../packages/cli/src/io.js";
import { runCli } from "../../../packages/cli/src/run.js";
import { Display } from "../../helpers/display.js";
import { type ReplacedStreams, replaceStreams } from "../../helpers/replaced-streams.js";

const SIZE = { columns: 80, rows: 24 };
const ENTER = "\r";
const CTRL_C = "\u0003";
const CTRL_D = "\u0004";

let folder: string;
let history: string;
let streams: ReplacedStreams;
let display: Display;
let ended: Promise<number>;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "stemma-screen-"));
  history = join(folder, "history.jsonl");
  for (const name of ["STEMMA_MODEL", "STEMMA_MODEL_BASE_URL", "STEMMA_SKILLS", "NO_COLOR"]) vi.stubEnv(name, "");
  vi.stubEnv("STEMMA_USER", "ada");
  vi.stubEnv("STEMMA_HISTORY", history);
  vi.stubEnv("TERM", "xterm-256color");
});
afterEach(() => {
  streams.restore();
  process.exitCode = undefined;
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

/** Starts a chat whose prompt is there. */
async function start(): Promise<void> {
  display = new Display(SIZE.columns, SIZE.rows);
  streams = replaceStreams({ terminal: SIZE, onWrite: (text) => display.draw(text) });
  display.onAnswer((answer) => streams.type(answer));
  const argv = ["--db", join(folder, "chat.db"), "chat"];
  ended = runCli(argv, processIo(), { version: "1.2.3", before: [registerChat] });
  await display.shows(/^─+$/mu);
}

/** Quits by Ctrl-D, and starts again. */
async function restart(): Promise<void> {
  streams.type(CTRL_D);
  expect(await ended).toBe(0);
  streams.restore();
  await start();
}

it("answers, and shows at the next start what was said", async () => {
  await start();
  streams.type(`remember that I like tea${ENTER}`);
  await display.shows("Noted in the memory block: I like tea");
  await restart();
  await display.shows("> remember that I like tea");
  streams.type(CTRL_D);
  await ended;
  expect(readFileSync(history, "utf8")).toBe('"remember that I like tea"\n');
});

it("completes a command, and lists them", async () => {
  await start();
  streams.type("/us");
  streams.type("\t");
  streams.type(ENTER);
  await display.shows("0 tokens in, 0 out");
  streams.type(CTRL_D);
  await ended;
});

it("ends at the second Ctrl-C; the first one empties the prompt", async () => {
  await start();
  streams.type("half a thought");
  await display.shows("half a thought");
  streams.type(CTRL_C);
  await display.showsNot("half a thought");
  streams.type(CTRL_C);
  await display.shows("(Ctrl-C again to quit)");
  streams.type(CTRL_C);
  expect(await ended).toBe(0);
  expect(process.exitCode).toBe(130);
});
