// What a model, or a text that it believes, may try with the tools of a local agent.
import { spawn } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { longestHold } from "../../../../../test/helpers/longest-hold.js";
import { patience } from "../../../../../test/helpers/patience.js";
import { createBuiltinTools } from "../../../src/tools/builtin-tools.js";

const isWritten = (answer: string) => answer.startsWith("Wrote");
const isRefused = (answer: string) => answer.startsWith("Error: ");

let outside: string;
let cwd: string;
let tools: ReturnType<typeof createBuiltinTools>;
beforeEach(() => {
  outside = mkdtempSync(join(tmpdir(), "stemma-attacks-"));
  cwd = join(outside, "work");
  mkdirSync(join(cwd, "dir"), { recursive: true });
  mkdirSync(join(outside, "elsewhere"));
  writeFileSync(join(cwd, "dir", "a.txt"), "inside\n");
  writeFileSync(join(outside, "elsewhere", "a.txt"), "secret\n");
  tools = createBuiltinTools({ cwd, approve: () => true });
});
afterEach(() => rmSync(outside, { recursive: true, force: true }));

describe("paths", () => {
  it("makes no file below a link that leads out, however deep and however it is written", async () => {
    symlinkSync(join(outside, "elsewhere"), join(cwd, "link"));
    symlinkSync("../../elsewhere", join(cwd, "dir", "up"));
    symlinkSync("link", join(cwd, "link-to-link"));
    const paths = [
      "link/new.txt",
      "link/new/deep/er.txt",
      "./dir/../link/new.txt",
      "link-to-link/new.txt",
      "dir/up/new.txt",
      join(outside, "elsewhere", "new.txt"),
      `${cwd}/../elsewhere/new.txt`,
      `${cwd}-sibling/new.txt`,
    ];
    for (const path of paths) {
      expect(await tools.write.execute({ path, content: "!" })).toMatch(/^Error: .*outside/);
    }
    expect(readdirSync(join(outside, "elsewhere"))).toEqual(["a.txt"]);
    expect(readdirSync(outside).sort()).toEqual(["elsewhere", "work"]);
  });

  it("refuses what no path can be", async () => {
    for (const path of ["a\0b", "x".repeat(5000), "loop/a"]) {
      symlinkSync("loop", join(cwd, "loop"));
      expect(await tools.write.execute({ path, content: "!" })).toMatch(/^Error: /);
      expect(await tools.read.execute({ path })).toMatch(/^Error: /);
      rmSync(join(cwd, "loop"));
    }
  });

  it("writes into the directory itself when that is reached through a link", async () => {
    symlinkSync(cwd, join(outside, "alias"));
    const aliased = createBuiltinTools({ cwd: join(outside, "alias"), approve: () => true });
    expect(await aliased.write.execute({ path: "n.txt", content: "n" })).toMatch(/^Wrote/);
    expect(readFileSync(join(cwd, "n.txt"), "utf8")).toBe("n");
  });

  it("opens neither pipes nor devices nor directories, and waits for none", async () => {
    expect(await tools.shell.execute({ command: "mkfifo pipe" })).toBe("(exit code 0)");
    for (const path of ["pipe", "dir"]) {
      expect(await tools.read.execute({ path })).toMatch(/^Error: .* is not a file/);
      expect(await tools.write.execute({ path, content: "!" })).toMatch(/^Error: .* is not a file/);
    }
    expect(await tools.grep.execute({ pattern: "x", path: "pipe" })).toBe("Nothing matches x.");
  });
});

describe("races", () => {
  // As someone who waits for the approval would do it.
  it("follows no link that took the place of a file while its approval was asked for", async () => {
    tools = createBuiltinTools({
      cwd,
      approve() {
        rmSync(join(cwd, "dir", "a.txt"));
        symlinkSync(join(outside, "elsewhere", "a.txt"), join(cwd, "dir", "a.txt"));
        return true;
      },
    });
    expect(await tools.write.execute({ path: "dir/a.txt", content: "!" })).toMatch(/^Error: /);
    expect(readFileSync(join(outside, "elsewhere", "a.txt"), "utf8")).toBe("secret\n");
  });

  it("changes nothing outside while a directory and a link to another swap places all the time", async () => {
    symlinkSync(join(outside, "elsewhere"), join(cwd, "link"));
    let swapping = true;
    const swap = async () => {
      while (swapping) {
        renameSync(join(cwd, "dir"), join(cwd, "aside"));
        renameSync(join(cwd, "link"), join(cwd, "dir"));
        await new Promise(setImmediate);
        renameSync(join(cwd, "dir"), join(cwd, "link"));
        renameSync(join(cwd, "aside"), join(cwd, "dir"));
        await new Promise(setImmediate);
      }
    };
    const done = swap();
    const answers: string[] = [];
    // On a busy machine the places may not change during many calls.
    for (let attempt = 0; attempt < 200 || (attempt < 5000 && !answers.some(isRefused)); attempt += 1) {
      answers.push(await tools.edit.execute({ path: "dir/a.txt", old: "secret", new: "mine" }));
      answers.push(await tools.read.execute({ path: "dir/a.txt" }));
      answers.push(await tools.grep.execute({ pattern: "secret" }));
    }
    swapping = false;
    await done;
    expect(answers.filter((answer) => /: secret|\tsecret/.test(answer))).toEqual([]);
    expect(readFileSync(join(outside, "elsewhere", "a.txt"), "utf8")).toBe("secret\n");
    expect(answers.some(isRefused)).toBe(true);
  });

  it("shows no name from outside, and makes no file there, while a directory and a link to another swap places", async () => {
    writeFileSync(join(outside, "elsewhere", "only-outside.txt"), "");
    mkdirSync(join(outside, "elsewhere", "below-outside"));
    symlinkSync(join(outside, "elsewhere"), join(cwd, "link"));
    // In a process of its own, so that the places change between any two calls.
    const swapper = spawn(process.execPath, ["-e", SWAP, cwd], { stdio: "ignore" });
    const answers: string[] = [];
    try {
      const start = Date.now();
      const isSeen = () => answers.some(isRefused) && answers.some(isWritten);
      // Longer on a busy machine, where the places may not change during many calls.
      const goesOn = (ms: number) => ms < 4000 || (ms < 45_000 && !isSeen());
      for (let attempt = 0; goesOn(Date.now() - start); attempt += 1) {
        answers.push(await tools.list.execute({ path: "dir" }));
        answers.push(await tools.glob.execute({ pattern: "dir/**" }));
        answers.push(await tools.grep.execute({ pattern: "secret", path: "dir" }));
        answers.push(await tools.write.execute({ path: `dir/new-${attempt}.txt`, content: "!" }));
        answers.push(await tools.write.execute({ path: `dir/new-${attempt}/deep.txt`, content: "!" }));
      }
    } finally {
      swapper.kill("SIGKILL");
      await new Promise((resolve) => swapper.once("exit", resolve));
    }
    expect(answers.filter((answer) => /outside\.txt|below-outside|: secret/.test(answer))).toEqual([]);
    expect(readdirSync(join(outside, "elsewhere")).sort()).toEqual(["a.txt", "below-outside", "only-outside.txt"]);
    expect(answers.some(isWritten)).toBe(true);
    expect(answers.some(isRefused)).toBe(true);
  });
});

const SWAP = `
const { mkdirSync, renameSync, rmSync, symlinkSync } = require("node:fs");
process.chdir(process.argv[1]);
// A tool may make a directory where one has just left, so that none can return.
function begin() {
  for (const name of ["dir", "aside", "link"]) rmSync(name, { recursive: true, force: true });
  mkdirSync("dir");
  symlinkSync("../elsewhere", "link");
}
for (;;) {
  try {
    for (const [from, to] of [["dir", "aside"], ["link", "dir"], ["dir", "link"], ["aside", "dir"]]) renameSync(from, to);
  } catch {
    try { begin(); } catch {}
  }
}`;

describe("endless work", () => {
  it("gives up on an expression that takes too long", async () => {
    writeFileSync(join(cwd, "long.txt"), `${"a".repeat(60)}!\n`);
    expect(await tools.grep.execute({ pattern: "^(a+)+$" })).toMatch(/^Error: .*takes too long/);
    writeFileSync(join(cwd, "a".repeat(200)), "");
    const pattern = `${"*a".repeat(40)}b`;
    expect(await tools.glob.execute({ pattern })).toMatch(/^Error: .*takes too long/);
    expect(await tools.grep.execute({ pattern: "x", files: pattern })).toMatch(/^Error: .*takes too long/);
    for (const hostile of ["{a,".repeat(9000), "a".repeat(70_000)]) {
      expect(await tools.glob.execute({ pattern: hostile })).toMatch(/^(Error: |No file matches)/);
    }
    // And goes on working.
    expect(await tools.grep.execute({ pattern: "in.ide" })).toBe("dir/a.txt:1: inside");
  });

  it("does not wait for what a command leaves behind, in its group or out of it", async () => {
    const started = Date.now();
    expect(await tools.shell.execute({ command: "sleep 30 & echo started" })).toBe("started\n(exit code 0)");
    expect(await tools.shell.execute({ command: "setsid sleep 20 & echo away" })).toBe("away\n(exit code 0)");
    expect(await tools.shell.execute({ command: "setsid sh -c 'sleep 20' ; true", seconds: 1 })).toMatch(/\(ended/);
    expect(Date.now() - started).toBeLessThan(10_000);
  });

  it.runIf(existsSync("/proc/self/environ"))(
    "ends what leaves its group, its session and its parent, within its time and after it",
    async () => {
      const [beat, log] = [join(cwd, "beat.sh"), join(cwd, "log")];
      // Goes on in ever new processes.
      writeFileSync(beat, `#!/bin/sh\necho x >> ${log}\nsleep 0.05\nsetsid ${beat} > /dev/null 2>&1 < /dev/null &\n`);
      chmodSync(beat, 0o755);
      for (const command of [`setsid ${beat} & sleep 20`, `setsid ${beat} & sleep 0.3`]) {
        await tools.shell.execute({ command, seconds: 1 });
        const after = readFileSync(log, "utf8");
        expect(after.length).toBeGreaterThan(2);
        await new Promise((resolve) => setTimeout(resolve, 500));
        expect(readFileSync(log, "utf8")).toBe(after);
      }
    },
    30_000,
  );

  it("bounds a search as a whole, not file by file", async () => {
    // Each file alone stays within the limit, on a slow machine too; all of them do not on a fast one.
    for (let index = 0; index < 200; index += 1) writeFileSync(join(cwd, `long-${index}.txt`), `${"a".repeat(24)}!\n`);
    const started = Date.now();
    expect(await tools.grep.execute({ pattern: "^(a+)+$" })).toMatch(/^Error: .*takes too long/);
    expect(Date.now() - started).toBeLessThan(6000);
  });

  it.each([
    ["grep", { pattern: "^(a+)+$" }],
    ["grep", { pattern: "(x+x+)+y" }],
    ["grep", { pattern: "a", files: `${"*a".repeat(12)}*b` }],
    ["glob", { pattern: `${"*a".repeat(12)}*b` }],
    ["glob", { pattern: "**/{".repeat(16_000) }],
  ])("lets others work while it matches: %s %j", async (name, input) => {
    const texts = [`${"a".repeat(40)}!`, "x".repeat(200_000)];
    writeFileSync(join(cwd, `${"a".repeat(200)}.txt`), `${texts.join("\n")}\n`);
    let answer = "";
    const held = await longestHold(async () => {
      answer = await tools[name as "grep" | "glob"].execute(input as never);
    });
    expect(answer).toMatch(/^(Error: |No|$)/);
    expect(held).toBeLessThan(patience(250));
  });

  it("ends a match when the turn is stopped", async () => {
    writeFileSync(join(cwd, "a.txt"), `${"a".repeat(40)}!\n`);
    const started = performance.now();
    const abortSignal = AbortSignal.timeout(200);
    expect(await tools.grep.execute({ pattern: "^(a+)+$" }, { abortSignal } as object)).toMatch(/^Error: .*aborted/);
    expect(performance.now() - started).toBeLessThan(patience(1500));
  });

  it("bounds an output without end", async () => {
    const answer = await tools.shell.execute({ command: "yes", seconds: 1 });
    expect(answer.length).toBeLessThan(31_000);
    expect(answer).toContain("(ended after 1 seconds)");
  });
});

describe("keys of the host", () => {
  it("are not passed to a command; what the host names is", async () => {
    process.env.STEMMA_TEST_API_KEY = "sk-secret";
    try {
      const answer = await tools.shell.execute({ command: "env; echo home=$HOME" });
      expect(answer).not.toContain("sk-secret");
      expect(answer).toContain("PATH=");
      expect(answer).toContain(`home=${process.env.HOME ?? ""}`);
      const { STEMMA_TEST_API_KEY } = process.env;
      const given = createBuiltinTools({ cwd, approve: () => true, env: { STEMMA_TEST_API_KEY, OTHER: undefined } });
      expect(await given.shell.execute({ command: "env" })).toContain("STEMMA_TEST_API_KEY=sk-secret");
    } finally {
      delete process.env.STEMMA_TEST_API_KEY;
    }
  });
});

describe("a full disk", () => {
  it("leaves the old file, and nothing beside it", async () => {
    const handle = await open(join(cwd, "dir", "a.txt"));
    const prototype = Object.getPrototypeOf(handle) as FileHandle;
    await handle.close();
    const full = vi.spyOn(prototype, "writeFile").mockImplementation(async function (this: FileHandle) {
      await this.write("half");
      throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
    });
    try {
      expect(await tools.write.execute({ path: "dir/a.txt", content: "new" })).toMatch(/^Error: .*ENOSPC/);
      expect(await tools.edit.execute({ path: "dir/a.txt", old: "inside", new: "new" })).toMatch(/^Error: .*ENOSPC/);
      expect(await tools.write.execute({ path: "dir/b.txt", content: "new" })).toMatch(/^Error: .*ENOSPC/);
    } finally {
      full.mockRestore();
    }
    expect(readFileSync(join(cwd, "dir", "a.txt"), "utf8")).toBe("inside\n");
    expect(readdirSync(join(cwd, "dir"))).toEqual(["a.txt"]);
  });
});

describe("files that are not what they seem", () => {
  it("edits no file that it could not write back as it is, and keeps what it does not edit", async () => {
    const latin = Buffer.from([0x63, 0x61, 0x66, 0xe9, 0x0a]);
    writeFileSync(join(cwd, "latin.txt"), latin);
    expect(await tools.edit.execute({ path: "latin.txt", old: "caf", new: "x" })).toMatch(/^Error: .*UTF-8/);
    expect(readFileSync(join(cwd, "latin.txt"))).toEqual(latin);
    expect(await tools.grep.execute({ pattern: "caf" })).toMatch(/^latin\.txt:1: caf/);
    writeFileSync(join(cwd, "marked.txt"), "\uFEFFone\r\ntwo\r\n");
    chmodSync(join(cwd, "marked.txt"), 0o740);
    expect(await tools.edit.execute({ path: "marked.txt", old: "two", new: "2" })).toMatch(/^Replaced 1/);
    expect(readFileSync(join(cwd, "marked.txt"), "utf8")).toBe("\uFEFFone\r\n2\r\n");
    expect(statSync(join(cwd, "marked.txt")).mode & 0o777).toBe(0o740);
  });

  it("searches on where something cannot be read", async () => {
    mkdirSync(join(cwd, "closed"));
    writeFileSync(join(cwd, "closed", "b.txt"), "inside");
    chmodSync(join(cwd, "closed"), 0);
    // Whoever runs the tests as root can read everything.
    const found = await tools.grep.execute({ pattern: "inside" });
    chmodSync(join(cwd, "closed"), 0o700);
    expect(found).toContain("dir/a.txt:1: inside");
    expect(await tools.grep.execute({ pattern: "x", path: "nowhere" })).toBe("Error: nowhere is not there.");
    expect(await tools.list.execute({ path: "dir/a.txt" })).toMatch(/^Error: dir\/a\.txt is not a directory/);
    expect(existsSync(join(cwd, "nowhere"))).toBe(false);
  });
});
