// What a model, or a text that it believes, may try with the tools of a local agent.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createBuiltinTools } from "./builtin-tools.js";

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
    for (let attempt = 0; attempt < 200; attempt += 1) {
      answers.push(await tools.edit.execute({ path: "dir/a.txt", old: "secret", new: "mine" }));
      answers.push(await tools.read.execute({ path: "dir/a.txt" }));
      answers.push(await tools.grep.execute({ pattern: "secret" }));
    }
    swapping = false;
    await done;
    expect(answers.filter((answer) => /: secret|\tsecret/.test(answer))).toEqual([]);
    expect(readFileSync(join(outside, "elsewhere", "a.txt"), "utf8")).toBe("secret\n");
    expect(answers.some((answer) => answer.startsWith("Error: "))).toBe(true);
  });
});

describe("endless work", () => {
  it("gives up on an expression that takes too long", async () => {
    writeFileSync(join(cwd, "long.txt"), `${"a".repeat(60)}!\n`);
    expect(await tools.grep.execute({ pattern: "^(a+)+$" })).toMatch(/^Error: .*takes too long/);
    writeFileSync(join(cwd, "a".repeat(200)), "");
    const pattern = `${"*a".repeat(40)}b`;
    expect(await tools.glob.execute({ pattern })).toMatch(/^Error: .*takes too long/);
    expect(await tools.grep.execute({ pattern: "x", files: pattern })).toMatch(/^Error: .*takes too long/);
    // And goes on working.
    expect(await tools.grep.execute({ pattern: "in.ide" })).toBe("dir/a.txt:1: inside");
  }, 30_000);

  it("does not wait for what a command leaves behind, in its group or out of it", async () => {
    const started = Date.now();
    expect(await tools.shell.execute({ command: "sleep 30 & echo started" })).toBe("started\n(exit code 0)");
    expect(await tools.shell.execute({ command: "setsid sleep 20 & echo away" })).toBe("away\n(exit code 0)");
    expect(await tools.shell.execute({ command: "setsid sh -c 'sleep 20' ; true", seconds: 1 })).toMatch(/\(ended/);
    expect(Date.now() - started).toBeLessThan(10_000);
  });

  it("bounds an output without end", async () => {
    const answer = await tools.shell.execute({ command: "yes", seconds: 1 });
    expect(answer.length).toBeLessThan(31_000);
    expect(answer).toContain("(ended after 1 seconds)");
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
