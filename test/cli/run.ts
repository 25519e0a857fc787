import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { build } from "esbuild";
import { afterAll } from "vitest";
import type { Io } from "../../packages/cli/src/io.js";
import { runCli } from "../../packages/cli/src/run.js";
import { FROM_SOURCES } from "../../scripts/entry-points.mjs";
import { studioDefine } from "../../scripts/studio-page.mjs";

export interface Ran {
  code: number;
  out: string;
  err: string;
}

/** A folder that is removed after the tests of the file. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "stemma-cli-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Builds the command as one file in a folder, of version 7.8.9, and gives its path. */
export async function buildCommand(folder: string): Promise<string> {
  const program = join(folder, "dist", "cli", "main.js");
  mkdirSync(dirname(program), { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  symlinkSync(resolve("node_modules"), join(folder, "node_modules"));
  await build({
    entryPoints: ["packages/cli/src/main.ts"],
    outfile: program,
    ...FROM_SOURCES,
    define: { ...(await studioDefine()), STEMMA_VERSION: '"7.8.9"' },
  });
  return program;
}

/** Runs command lines in this process on one database. */
export function commandLine(folder: string, name = "test.db") {
  const db = join(folder, name);
  return {
    db,
    run: (...args: string[]) => run(["--db", db, ...args]),
    /** Runs a command that must succeed, and gives its output. */
    async ok(...args: string[]): Promise<string> {
      const { code, out, err } = await run(["--db", db, ...args]);
      if (code !== 0) throw new RangeError(`stemma ${args.join(" ")} ended with ${code}: ${err}`);
      return out;
    },
    /** The same with --json, and one value that is read from it. */
    async json<T = unknown>(...args: string[]): Promise<T> {
      return JSON.parse(await this.ok("--json", ...args)) as T;
    },
    async jsonLines<T = unknown>(...args: string[]): Promise<T[]> {
      return linesOf(await this.ok("--json", ...args)) as T[];
    },
    /** Writes a file beside the database and gives its path. */
    file(fileName: string, content: string): string {
      const path = join(folder, fileName);
      writeFileSync(path, content);
      return path;
    },
  };
}

export type CommandLine = ReturnType<typeof commandLine>;

export async function run(
  argv: readonly string[],
  options: { input?: string; answering?: boolean; terminal?: boolean } = {},
): Promise<Ran> {
  const { input = "", answering = false, terminal = false } = options;
  const ran: Ran = { code: 0, out: "", err: "" };
  let failed = false;
  async function* bytes(): AsyncGenerator<Uint8Array> {
    yield new TextEncoder().encode(input);
  }
  const io: Io = {
    write: async (text) => {
      ran.out += text;
    },
    writeError: (text) => {
      ran.err += text;
    },
    fail: () => {
      failed = true;
    },
    saveMemory: () => {},
    input: bytes(),
    isTerminal: { input: answering, output: terminal, error: terminal },
    width: 100,
  };
  ran.code = await runCli(argv, io, { version: "1.2.3" });
  if (ran.code === 0 && failed) ran.code = 1;
  return ran;
}

export function linesOf(text: string): unknown[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}
