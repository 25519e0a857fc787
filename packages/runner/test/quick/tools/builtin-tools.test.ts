import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type BuiltinToolName, builtinTools, createBuiltinTools } from "../../../src/tools/builtin-tools.js";

let outside: string;
let cwd: string;
let tools: ReturnType<typeof createBuiltinTools>;
beforeEach(() => {
  outside = mkdtempSync(join(tmpdir(), "stemma-tools-"));
  cwd = join(outside, "work");
  mkdirSync(join(cwd, "src", "deep"), { recursive: true });
  mkdirSync(join(cwd, "node_modules", "x"), { recursive: true });
  writeFileSync(join(cwd, "a.txt"), "one\ntwo\nthree\n");
  writeFileSync(join(cwd, "src", "b.ts"), "const two = 2;\n");
  writeFileSync(join(cwd, "src", "deep", "c.ts"), "export {};\n");
  writeFileSync(join(cwd, "node_modules", "x", "d.ts"), "two\n");
  writeFileSync(join(outside, "secret.txt"), "secret two");
  tools = createBuiltinTools({ cwd, approve: () => true });
});
afterEach(() => rmSync(outside, { recursive: true, force: true }));

const run = (name: BuiltinToolName, input: unknown, options?: object) =>
  tools[name].execute(input, options as { toolCallId?: string });

it("read null and an empty text as absence, and numbers, booleans and lists in texts as such", async () => {
  for (const absent of [null, ""]) {
    const whole = await run("read", { path: "a.txt" });
    expect(await run("read", { path: "a.txt", offset: absent, limit: absent })).toBe(whole);
    expect(await run("list", { path: absent })).toBe(await run("list", {}));
    const found = await run("grep", { pattern: "two" });
    expect(await run("grep", { pattern: "two", path: absent, files: absent, ignoreCase: absent })).toBe(found);
    expect(await run("shell", { command: "echo hi", seconds: absent })).toBe("hi\n(exit code 0)");
    expect(await run("edit", { path: "a.txt", old: "one", new: "one", all: absent })).toMatch(/^Replaced 1/);
  }
  expect(await run("read", { path: "a.txt", offset: "2", limit: "1" })).toBe("2\ttwo\n(Lines 2 to 2 of 3.)");
  expect(await run("grep", { pattern: "TWO", ignoreCase: "true" })).toContain("a.txt:2: two");
  expect(await run("todo", { items: '[{"text":"Dig","status":"done"}]', more: null })).toBe("- [x] Dig");
  expect(await run("todo", { items: [], more: 1 })).toBe("Error: the input takes no more: its fields are items.");
  expect(await run("write", { path: "a.txt", content: "" })).toBe("Wrote 0 characters to a.txt.");
  expect(await run("write", { path: "a.txt" })).toBe("Error: content is missing: send a text (The whole text).");
  expect(await run("todo", { items: [{ text: "Dig", status: "later" }] })).toBe(
    'Error: items[0].status must be one of pending, active, done, not "later".',
  );
});

describe("reading", () => {
  it("reads a file with line numbers, whole or in part", async () => {
    expect(await run("read", { path: "a.txt" })).toBe("1\tone\n2\ttwo\n3\tthree");
    expect(await run("read", { path: "./a.txt", offset: 2, limit: 1 })).toBe("2\ttwo\n(Lines 2 to 2 of 3.)");
    expect(await run("read", { path: "a.txt", offset: 9 })).toBe("(It has 3 lines.)");
    writeFileSync(join(cwd, "empty"), "");
    expect(await run("read", { path: "empty" })).toBe("(The file is empty.)");
  });

  it("bounds what it reads: lines, their length, all of it", async () => {
    writeFileSync(join(cwd, "long"), "x".repeat(5000));
    expect((await run("read", { path: "long" })).length).toBeLessThan(2100);
    writeFileSync(join(cwd, "many"), "line of text\n".repeat(10_000));
    const answer = await run("read", { path: "many" });
    expect(answer.length).toBeLessThan(31_000);
    expect(answer).toContain("of 10000.)");
  });

  it("says what it cannot read", async () => {
    writeFileSync(join(cwd, "binary"), Buffer.from([1, 0, 2]));
    expect(await run("read", { path: "binary" })).toMatch(/^Error: binary is not a text file/);
    expect(await run("read", { path: "nothing" })).toMatch(/^Error: nothing is not there/);
    expect(await run("read", { path: "src" })).toMatch(/^Error: src is not a file/);
    expect(await run("read", { path: "a.txt/b" })).toMatch(/^Error: .*below a file/);
    expect(await run("read", {})).toMatch(/^Error: path/);
  });

  it("lists a directory", async () => {
    expect(await run("list", {})).toBe("a.txt\nnode_modules/\nsrc/");
    mkdirSync(join(cwd, "empty"));
    expect(await run("list", { path: "empty" })).toBe("(The directory is empty.)");
    for (let index = 0; index < 600; index += 1) writeFileSync(join(cwd, "empty", `f${index}`), "");
    expect(await run("list", { path: "empty" })).toContain("(100 more; be more specific.)");
  });

  it("finds files by a pattern, but for those of packages and git", async () => {
    expect(await run("glob", { pattern: "**/*.ts" })).toBe("src/b.ts\nsrc/deep/c.ts");
    expect(await run("glob", { pattern: "*.ts" })).toBe("src/b.ts\nsrc/deep/c.ts");
    expect(await run("glob", { pattern: "src/*.ts" })).toBe("src/b.ts");
    expect(await run("glob", { pattern: "{a,z}.{txt,md}" })).toBe("a.txt");
    expect(await run("glob", { pattern: "src/[!b]*/?.ts" })).toBe("src/deep/c.ts");
    expect(await run("glob", { pattern: "*.(md" })).toBe("No file matches *.(md.");
  });

  it("finds lines", async () => {
    expect(await run("grep", { pattern: "tw." })).toBe("a.txt:2: two\nsrc/b.ts:1: const two = 2;");
    expect(await run("grep", { pattern: "TWO", ignoreCase: true, files: "*.ts" })).toBe("src/b.ts:1: const two = 2;");
    expect(await run("grep", { pattern: "o", path: "a.txt" })).toBe("a.txt:1: one\na.txt:2: two");
    expect(await run("grep", { pattern: "nowhere" })).toBe("Nothing matches nowhere.");
    expect(await run("grep", { pattern: "(" })).toMatch(/^Error: "\(" is not a regular expression/);
  });
});

describe("writing", () => {
  it("writes a file with its directories, and edits it", async () => {
    expect(await run("write", { path: "new/dir/f.txt", content: "a $& b a" })).toBe(
      "Wrote 8 characters to new/dir/f.txt.",
    );
    expect(await run("edit", { path: "new/dir/f.txt", old: "b", new: "$&$1" })).toBe(
      "Replaced 1 occurrence in new/dir/f.txt.",
    );
    expect(readFileSync(join(cwd, "new/dir/f.txt"), "utf8")).toBe("a $& $&$1 a");
  });

  it("edits only what is there once, unless told otherwise", async () => {
    expect(await run("edit", { path: "a.txt", old: "four", new: "x" })).toMatch(/^Error: .*does not occur/);
    expect(await run("edit", { path: "a.txt", old: "o", new: "0" })).toMatch(/^Error: .*occurs 2 times/);
    expect(await run("edit", { path: "a.txt", old: "o", new: "0", all: true })).toBe(
      "Replaced 2 occurrences in a.txt.",
    );
    expect(readFileSync(join(cwd, "a.txt"), "utf8")).toBe("0ne\ntw0\nthree\n");
  });

  it("asks before it writes or runs, and does nothing without a yes", async () => {
    const approve = vi.fn(() => "not today");
    tools = createBuiltinTools({ cwd, approve });
    expect(await run("write", { path: "x", content: "" }, { toolCallId: "c" })).toMatch(/^Error: .*not today/);
    expect(await run("edit", { path: "a.txt", old: "one", new: "x" })).toMatch(/^Error:/);
    expect(await run("shell", { command: "touch y" })).toMatch(/^Error:/);
    expect(approve).toHaveBeenCalledTimes(3);
    expect(approve).toHaveBeenCalledWith({ toolName: "write", toolCallId: "c", input: { path: "x", content: "" } });
    await run("read", { path: "a.txt" });
    expect(approve).toHaveBeenCalledTimes(3);
    expect([existsSync(join(cwd, "x")), existsSync(join(cwd, "y"))]).toEqual([false, false]);
  });

  it("is off where nobody can be asked, and asks the session's approver otherwise", async () => {
    for (const set of [createBuiltinTools({ cwd }), builtinTools]) {
      expect(await set.write.execute({ path: "x", content: "" })).toMatch(/^Error: write is off/);
      expect(await set.shell.execute({ command: "true" })).toMatch(/^Error: shell is off/);
    }
    tools = createBuiltinTools({ cwd });
    expect(await run("shell", { command: "echo hi" }, { approve: () => true })).toBe("hi\n(exit code 0)");
  });
});

describe("confinement", () => {
  const escapes = [
    "../secret.txt",
    "/etc/passwd",
    "src/../../secret.txt",
    "link/secret.txt",
    "file-link",
    "new/../../x",
  ];

  it("touches nothing outside of the working directory, whatever paths and links say", async () => {
    symlinkSync(outside, join(cwd, "link"));
    symlinkSync(join(outside, "secret.txt"), join(cwd, "file-link"));
    symlinkSync(join(outside, "not-there"), join(cwd, "dangling"));
    for (const path of escapes) {
      expect(await run("read", { path })).toMatch(/^Error: .*outside/);
      expect(await run("write", { path, content: "!" })).toMatch(/^Error: .*outside/);
      expect(await run("edit", { path, old: "secret", new: "!" })).toMatch(/^Error: .*outside/);
      expect(await run("grep", { pattern: "secret", path })).toMatch(/^Error: .*outside/);
    }
    expect(await run("list", { path: "link" })).toMatch(/^Error: .*outside/);
    expect(await run("write", { path: "dangling", content: "!" })).toMatch(/^Error: .*leads nowhere/);
    expect(await run("grep", { pattern: "secret" })).toBe("Nothing matches secret.");
    expect(await run("glob", { pattern: "**/secret.txt" })).toMatch(/^No file/);
    expect(readFileSync(join(outside, "secret.txt"), "utf8")).toBe("secret two");
    expect(existsSync(join(outside, "not-there"))).toBe(false);
  });

  it("follows links that stay inside", async () => {
    symlinkSync(join(cwd, "src"), join(cwd, "source"));
    expect(await run("read", { path: "source/b.ts" })).toBe("1\tconst two = 2;");
    expect(await run("write", { path: "source/n.ts", content: "n" })).toMatch(/^Wrote/);
    expect(readFileSync(join(cwd, "src", "n.ts"), "utf8")).toBe("n");
  });
});

describe("running", () => {
  it("runs a command in the working directory, and tells how it ended", async () => {
    expect(await run("shell", { command: "pwd; echo problem >&2; exit 3" })).toMatch(/work\nproblem\n\(exit code 3\)$/);
    expect(await run("shell", { command: "kill -9 $$" })).toBe("(ended by SIGKILL)");
  });

  it("bounds the output, showing its beginning and its end", async () => {
    const answer = await run("shell", { command: "seq 1 100000" });
    expect(answer.length).toBeLessThan(31_000);
    expect(answer).toMatch(/^1\n2\n[\s\S]*characters left out[\s\S]*\n100000\n\(exit code 0\)$/);
  });

  it("ends a command, with all that it started, when its time is up or it is aborted", async () => {
    const started = Date.now();
    expect(await run("shell", { command: "sleep 30 & sleep 30; echo never", seconds: 1 })).toBe(
      "(ended after 1 seconds)",
    );
    const abort = new AbortController();
    setTimeout(() => abort.abort(), 100);
    expect(await run("shell", { command: "sleep 30" }, { abortSignal: abort.signal })).toBe("(aborted)");
    // Neither of the two slept to its end.
    expect(Date.now() - started).toBeLessThan(30_000);
  });
});

describe("todo", () => {
  it("writes the list down", async () => {
    const items = [
      { text: "Look", status: "done" },
      { text: "Fix", status: "active" },
      { text: "Test", status: "pending" },
    ];
    expect(await run("todo", { items })).toBe("- [x] Look\n- [>] Fix\n- [ ] Test");
    expect(await run("todo", { items: [] })).toBe("The list is empty.");
  });
});
