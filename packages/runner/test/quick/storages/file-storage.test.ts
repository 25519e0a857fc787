import { spawnSync } from "node:child_process";
import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { draftName } from "../../../src/storages/file-commit.js";
import { FileSessionStorage } from "../../../src/storages/file-storage.js";
import type { SessionState } from "../../../src/types.js";

let directory: string;
beforeEach(() => {
  directory = join(mkdtempSync(join(tmpdir(), "stemma-files-")), "sessions");
});
afterEach(() => rmSync(join(directory, ".."), { recursive: true, force: true }));

const stateOf = (id: string, content = "Hi"): SessionState => ({
  id,
  messages: [{ id: "m", role: "user", content }],
  usage: { input_tokens: 1, output_tokens: 2 },
  metadata: { any: "thing" },
  createdAt: 1,
  updatedAt: 2,
});

describe("FileSessionStorage", () => {
  it("gives back what was saved, to this and to any later process", async () => {
    const storage = new FileSessionStorage(directory);
    await storage.save(stateOf("a"));
    await storage.save(stateOf("b", "漢字 🎉 \0 \ud800"));
    expect(await storage.load("a")).toEqual(stateOf("a"));
    expect(await new FileSessionStorage(`${directory}/`).load("b")).toEqual(stateOf("b", "漢字 🎉 \0 \ud800"));
    expect((await storage.list()).sort()).toEqual(["a", "b"]);
    expect(await storage.load("c")).toBeUndefined();
    await storage.delete("a");
    await storage.delete("a");
    expect(await storage.list()).toEqual(["b"]);
  });

  it("has nothing before anything was saved", async () => {
    const storage = new FileSessionStorage(directory);
    expect(await storage.list()).toEqual([]);
    expect(await storage.load("a")).toBeUndefined();
    expect(existsSync(directory)).toBe(false);
  });

  it("writes readable files that nobody else can read, and leaves nothing beside them", async () => {
    const storage = new FileSessionStorage(directory);
    await storage.save(stateOf("a"));
    await storage.save(stateOf("a", "More"));
    expect(readdirSync(directory)).toEqual(["a.json"]);
    expect(statSync(join(directory, "a.json")).mode & 0o777).toBe(0o600);
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    expect(readFileSync(join(directory, "a.json"), "utf8").split("\n").length).toBeGreaterThan(10);
  });

  it("refuses ids that could leave the directory or be another one's", async () => {
    const storage = new FileSessionStorage(directory);
    const ids = [
      "",
      ".",
      "..",
      "../a",
      "a/b",
      "a\\b",
      "/etc/passwd",
      ".hidden",
      "a.",
      "a b",
      "a\0",
      "ä",
      "a:b",
      "con",
      "NUL.x",
      "a".repeat(201),
    ];
    for (const id of ids) {
      await expect(storage.save(stateOf(id))).rejects.toMatchObject({ code: "INVALID_SESSION_ID" });
      await expect(storage.load(id)).rejects.toMatchObject({ code: "INVALID_SESSION_ID" });
      await expect(storage.delete(id)).rejects.toMatchObject({ code: "INVALID_SESSION_ID" });
    }
    expect(existsSync(directory)).toBe(false);
  });

  it("refuses an id whose file is another session's, as where case does not count", async () => {
    const storage = new FileSessionStorage(directory);
    await storage.save(stateOf("chat"));
    // What such a file system would show.
    linkSync(join(directory, "chat.json"), join(directory, "CHAT.json"));
    expect(await storage.load("CHAT")).toBeUndefined();
    await expect(storage.save(stateOf("CHAT"))).rejects.toMatchObject({ code: "INVALID_SESSION_ID" });
    await storage.delete("CHAT");
    expect(await storage.load("chat")).toEqual(stateOf("chat"));
    expect(existsSync(join(directory, "CHAT.json"))).toBe(true);
  });

  it("takes a relative path", async () => {
    const before = process.cwd();
    process.chdir(join(directory, ".."));
    try {
      await new FileSessionStorage("./sessions").save(stateOf("a"));
      await new FileSessionStorage("sessions").save(stateOf("a", "Two"));
      expect(readdirSync(directory)).toEqual(["a.json"]);
    } finally {
      process.chdir(before);
    }
  });

  it("keeps a session of the longest id, and lists no file that could not be a session's", async () => {
    const storage = new FileSessionStorage(directory);
    const id = "a".repeat(200);
    await storage.save(stateOf(id));
    for (const name of ["my notes.json", "con.json", `${id}a.json`, "b.txt"])
      writeFileSync(join(directory, name), "{}");
    expect(await storage.list()).toEqual([id]);
    const longest = `.${id}.${await draftName({ pid: 4_194_304 })}`;
    expect(longest.length).toBeLessThan(256);
  });

  it("follows no link out of the directory", async () => {
    mkdirSync(directory);
    writeFileSync(join(directory, "..", "secret.json"), JSON.stringify(stateOf("a", "secret")));
    symlinkSync(join(directory, "..", "secret.json"), join(directory, "a.json"));
    await expect(new FileSessionStorage(directory).load("a")).rejects.toMatchObject({ code: "STORE_FAILED" });
  });

  it("does not overwrite what another process saved", async () => {
    const ours = new FileSessionStorage(directory);
    await ours.save(stateOf("a"));
    const theirs = new FileSessionStorage(directory);
    const state = (await theirs.load("a")) as SessionState;
    await theirs.save({ ...state, messages: [] });
    await expect(ours.save(stateOf("a", "mine"))).rejects.toMatchObject({ code: "SESSION_CONFLICT" });
    expect((await theirs.load("a"))?.messages).toEqual([]);
    // Once it was read, it can be saved again.
    await ours.load("a");
    await ours.save(stateOf("a", "mine"));
    await expect(theirs.save(state)).rejects.toMatchObject({ code: "SESSION_CONFLICT" });
  });

  it("does not overwrite what another process made since nothing was loaded", async () => {
    const [ours, theirs] = [new FileSessionStorage(directory), new FileSessionStorage(directory)];
    expect([await ours.load("a"), await theirs.load("a")]).toEqual([undefined, undefined]);
    await theirs.save(stateOf("a", "theirs"));
    await expect(ours.save(stateOf("a", "mine"))).rejects.toMatchObject({ code: "SESSION_CONFLICT" });
    expect((await ours.load("a"))?.messages[0]?.content).toBe("theirs");
    await ours.save(stateOf("a", "mine"));
    // The same of one that someone else deleted: a load shows that it is gone.
    await new FileSessionStorage(directory).delete("a");
    await expect(ours.save(stateOf("a", "mine"))).rejects.toMatchObject({ code: "SESSION_CONFLICT" });
    expect(await ours.load("a")).toBeUndefined();
    await ours.save(stateOf("a", "mine"));
  });

  it("overwrites a session that it never loaded, as the documents' own storages do", async () => {
    await new FileSessionStorage(directory).save(stateOf("a"));
    const other = new FileSessionStorage(directory);
    await other.save(stateOf("a", "other"));
    expect((await new FileSessionStorage(directory).load("a"))?.messages[0]?.content).toBe("other");
  });

  it("notices what another program wrote into the file, whatever the order of its fields", async () => {
    const path = join(directory, "a.json");
    const foreign = (content: string) => {
      const { id, ...rest } = stateOf("a", content);
      writeFileSync(path, JSON.stringify({ ...rest, id }));
    };
    mkdirSync(directory);
    foreign("one");
    const storage = new FileSessionStorage(directory);
    const loaded = (await storage.load("a")) as SessionState;
    foreign("two");
    await expect(storage.save(loaded)).rejects.toMatchObject({ code: "SESSION_CONFLICT" });
    await storage.save((await storage.load("a")) as SessionState);
    // An edit by hand keeps the version that stands in the file.
    writeFileSync(path, readFileSync(path, "utf8").replace('"two"', '"2wo"'));
    await expect(storage.save(stateOf("a", "three"))).rejects.toMatchObject({ code: "SESSION_CONFLICT" });
    foreign("other's");
    linkSync(path, join(directory, "A.json"));
    await expect(storage.save(stateOf("A"))).rejects.toMatchObject({ code: "INVALID_SESSION_ID" });
  });

  it("saves anew what it deleted itself", async () => {
    const storage = new FileSessionStorage(directory);
    await storage.save(stateOf("a"));
    const loaded = (await storage.load("a")) as SessionState;
    await storage.delete("a");
    await storage.save(loaded);
    expect(await storage.load("a")).toEqual(stateOf("a"));
  });

  it("does not bring back a session that was deleted meanwhile", async () => {
    const ours = new FileSessionStorage(directory);
    await ours.save(stateOf("a"));
    await new FileSessionStorage(directory).delete("a");
    await expect(ours.save(stateOf("a"))).rejects.toMatchObject({ code: "SESSION_CONFLICT" });
    expect(await ours.list()).toEqual([]);
  });

  it("lets one of many writers of the same version win", async () => {
    await new FileSessionStorage(directory).save(stateOf("a"));
    const writers = await Promise.all(
      Array.from({ length: 8 }, async (_, index) => {
        const storage = new FileSessionStorage(directory);
        const state = (await storage.load("a")) as SessionState;
        return { storage, state: Object.assign(state, { metadata: { index } }) };
      }),
    );
    const results = await Promise.allSettled(writers.map(({ storage, state }) => storage.save(state)));
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    const winner = results.findIndex(({ status }) => status === "fulfilled");
    expect((await new FileSessionStorage(directory).load("a"))?.metadata).toEqual({ index: winner });
  });

  it("keeps the order of saves that were not waited for", async () => {
    const storage = new FileSessionStorage(directory);
    await Promise.all(Array.from({ length: 20 }, (_, index) => storage.save(stateOf("a", String(index)))));
    expect((await storage.load("a"))?.messages[0]?.content).toBe("19");
  });

  it("clears away what a process left behind that died while it wrote", async () => {
    const storage = new FileSessionStorage(directory);
    await storage.save(stateOf("a"));
    const dead = spawnSync(process.execPath, ["-e", ""]).pid;
    writeFileSync(join(directory, `.a.${await draftName({ pid: dead })}`), "half of a fi");
    // Of an earlier process of the same number, as in a container that was started anew.
    writeFileSync(join(directory, `.a.${await draftName({ place: 1 })}`), "half of a fi");
    expect(await storage.load("a")).toEqual(stateOf("a"));
    expect(readdirSync(directory)).toEqual(["a.json"]);
  });

  it("waits for a writer that lives, and for none that died", async () => {
    const storage = new FileSessionStorage(directory);
    await storage.save(stateOf("a"));
    const draftOf = async (pid: number) => {
      const draft = join(directory, `.a.${await draftName({ place: 1, pid })}`);
      writeFileSync(draft, "x");
      return draft;
    };
    const held = await draftOf(process.ppid);
    let saved = false;
    const saving = storage.save(stateOf("a", "Two")).then(() => {
      saved = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(saved).toBe(false);
    rmSync(held);
    await saving;
    await draftOf(spawnSync(process.execPath, ["-e", ""]).pid);
    const started = Date.now();
    await storage.save(stateOf("a", "Three"));
    // For one that lives it would wait this long.
    expect(Date.now() - started).toBeLessThan(5000);
    expect((await storage.load("a"))?.messages[0]?.content).toBe("Three");
    expect(readdirSync(directory)).toEqual(["a.json"]);
  });

  it("reads states that another program wrote, and says when a file holds none", async () => {
    mkdirSync(directory);
    writeFileSync(join(directory, "a.json"), JSON.stringify(stateOf("a")));
    writeFileSync(join(directory, "b.json"), '{"id": "b", "mess');
    writeFileSync(join(directory, "c.json"), "[]");
    const storage = new FileSessionStorage(directory);
    expect(await storage.load("a")).toEqual(stateOf("a"));
    await storage.save(stateOf("a", "Two"));
    await expect(storage.load("b")).rejects.toMatchObject({ code: "CORRUPT_STATE" });
    await expect(storage.load("c")).rejects.toMatchObject({ code: "CORRUPT_STATE" });
  });

  it("says why a directory cannot be used", async () => {
    writeFileSync(join(directory, "..", "file"), "");
    const storage = new FileSessionStorage(join(directory, "..", "file"));
    await expect(storage.save(stateOf("a"))).rejects.toMatchObject({ code: "STORE_FAILED" });
    expect(() => new FileSessionStorage("")).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
  });
});
