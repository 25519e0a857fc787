import { spawn, spawnSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SessionManager } from "../../../packages/stemma/src/session.js";
import type * as Sqlite from "../../../packages/store/src/sqlite.js";
import { bundle } from "../../runner/bundle.js";

const CANARY = "xylophone";
const KEY = "it's a key";
const load = createRequire(import.meta.url);
const folder = mkdtempSync(join(tmpdir(), "stemma-encrypted-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let sqlite: typeof Sqlite.sqlite;
let programs: string;
beforeAll(async () => {
  // Our sources cannot see the packages of compat/; what is bundled can.
  programs = await bundle("encrypted", [
    "packages/stemma/src/sqlite.ts",
    "packages/cli/src/main.ts",
    "test/store/encrypted-process.ts",
  ]);
  writeFileSync(join(programs, "package.json"), '{ "version": "0", "type": "module" }');
  ({ sqlite } = await import(pathToFileURL(join(programs, "packages/stemma/src/sqlite.mjs")).href));
});

/** The files that have the plain text, or a part of it that an index would have. */
const readable = (place: string) =>
  readdirSync(place).filter((name) => readFileSync(join(place, name)).includes(CANARY.slice(0, 6)));

const newFolder = () => mkdtempSync(join(folder, "case-"));

/** A file as a process leaves it that was killed; what it had on the disk while it was open was looked at. */
async function written(key = KEY): Promise<{ path: string; place: string }> {
  const place = newFolder();
  const path = join(place, "chats.db");
  const child = spawn(process.execPath, [join(programs, "test/store/encrypted-process.mjs"), path, key, CANARY]);
  let seen = 0;
  const look = () => {
    expect(readable(place)).toEqual([]);
    seen = Math.max(seen, readdirSync(place).length);
  };
  const looking = setInterval(look, 5);
  const said = await new Promise<string>((ready) => child.stdout.once("data", (text) => ready(String(text))));
  clearInterval(looking);
  look();
  expect(said).toBe("ready\n");
  const ended = new Promise((end) => child.once("close", end));
  child.kill("SIGKILL");
  await ended;
  // The file, its log and the index of its log.
  expect(seen).toBeGreaterThanOrEqual(3);
  return { path, place };
}

const contentsOf = (path: string) => readFileSync(path).toString("base64");

function hasCiphers(): boolean {
  try {
    new (load("better-sqlite3-multiple-ciphers"))(":memory:").close();
    return true;
  } catch (error) {
    if (process.env.CI) throw error;
    return false;
  }
}

describe.skipIf(!hasCiphers())("an encrypted file", () => {
  it("shows nothing in any file, while it is open and after kill -9, and is whole with its key", async () => {
    const { path, place } = await written();
    expect(readable(place)).toEqual([]);
    const store = sqlite(path, { key: KEY });
    const manager = SessionManager.create(store);
    expect(await manager.getSession(`${CANARY}-session`).getPathLength()).toBe(300);
    expect((await manager.search(CANARY)).length).toBe(20);
    expect(await store.check?.({ repair: true })).toMatchObject({ ok: true, repaired: 0 });
    expect(await store.scrub?.()).toBe("none");
    const report = await store.backup(join(place, "backup.db"));
    expect(report.check).toMatchObject({ ok: true });
    expect(readable(place)).toEqual([]);
    await store.close();
    expect(readable(place)).toEqual([]);
    expect(readdirSync(place).sort()).toEqual(["backup.db", "chats.db"]);
    const copy = sqlite(join(place, "backup.db"), { key: KEY });
    expect(await copy.session(`${CANARY}-session`).length()).toBe(300);
    await copy.close();
  });

  it("is refused with a wrong key and without one, and stays as it is", async () => {
    const { path } = await written();
    const store = sqlite(path, { key: KEY });
    await store.migrate();
    await store.close();
    const before = contentsOf(path);
    const refused = { code: "WRONG_KEY" };
    expect(() => sqlite(path, { key: "another" })).toThrow(expect.objectContaining(refused));
    expect(() => sqlite(path, { key: `${KEY} ` })).toThrow(expect.objectContaining(refused));
    expect(() => sqlite(path)).toThrow(expect.objectContaining(refused));
    expect(() => sqlite(path, { key: "" })).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
    const Ciphers = load("better-sqlite3-multiple-ciphers");
    await expect((async () => sqlite(new Ciphers(path)).migrate())()).rejects.toMatchObject(refused);
    expect(contentsOf(path)).toBe(before);
    const plain = join(newFolder(), "plain.db");
    const other = sqlite(plain);
    await other.migrate();
    await other.close();
    expect(() => sqlite(plain, { key: KEY })).toThrow(expect.objectContaining(refused));
  });

  it("is backed up where you opened it yourself, with its key", async () => {
    const place = newFolder();
    const Ciphers = load("better-sqlite3-multiple-ciphers");
    const open = () => {
      const client = new Ciphers(join(place, "own.db"));
      client.pragma(`key = '${CANARY}'`);
      client.pragma("journal_mode = WAL");
      return client;
    };
    const store = sqlite(open(), { key: CANARY });
    await SessionManager.create(store).append("s", { id: "a", role: "user", parts: [{ type: "text", text: CANARY }] });
    expect(await store.backup(join(place, "backup.db"))).toMatchObject({ check: { ok: true } });
    await store.close();
    expect(readable(place)).toEqual([]);
    // Without the key nobody can check the copy.
    const keyless = sqlite(open());
    await expect(keyless.backup(join(place, "second.db"))).rejects.toMatchObject({ code: "WRONG_KEY" });
    await keyless.backup(join(place, "third.db"), { check: false });
    await keyless.close();
    expect(readdirSync(place).sort()).toEqual(["backup.db", "own.db", "third.db"]);
    expect(readable(place)).toEqual([]);
  });

  it("is made, copied and used by the command, with the key from STEMMA_KEY", async () => {
    const { path, place } = await written();
    const stemma = (key: string, ...args: string[]) => {
      const env = { PATH: process.env.PATH, HOME: place, STEMMA_KEY: key, NODE_NO_WARNINGS: "1" };
      const { status, stdout, stderr } = spawnSync(
        process.execPath,
        [join(programs, "packages/cli/src/main.mjs"), ...args],
        {
          encoding: "utf8",
          env,
        },
      );
      return { code: status, out: stdout, err: stderr };
    };
    expect(stemma(KEY, "--db", path, "search", CANARY)).toMatchObject({
      code: 0,
      out: expect.stringContaining(CANARY),
    });
    expect(stemma(KEY, "--db", path, "check")).toMatchObject({ code: 0 });
    expect(stemma(KEY, "--db", path, "backup", join(place, "backup.db"))).toMatchObject({ code: 0 });
    for (const key of ["", "wrong"]) {
      const { code, err } = stemma(key, "--db", path, "--json", "sessions");
      expect([code, JSON.parse(err)]).toMatchObject([1, { error: { code: "WRONG_KEY" } }]);
    }
    const plain = join(newFolder(), "plain.db");
    expect(stemma(KEY, "copy", path, join(place, "copy.db"))).toMatchObject({ code: 0, err: "" });
    expect(readable(place)).toEqual([]);
    const exported = stemma(KEY, "--db", path, "export", "--all", "-o", `${plain}.jsonl`);
    expect(exported).toMatchObject({ code: 0 });
    // A file that is there and is not encrypted stays so; a copy of it is encrypted.
    expect(stemma("", "--db", plain, "import", `${plain}.jsonl`)).toMatchObject({ code: 0 });
    expect(stemma(KEY, "--db", plain, "sessions")).toMatchObject({ code: 0, out: expect.stringContaining("300") });
    expect(stemma(KEY, "copy", plain, join(place, "second.db"))).toMatchObject({ code: 0 });
    expect(stemma(KEY, "--db", join(place, "second.db"), "sessions")).toMatchObject({ code: 0 });
    expect(readable(place)).toEqual([]);
    expect(readFileSync(plain).includes(CANARY)).toBe(true);
  });

  it("is upgraded from an earlier version of the tables", async () => {
    const place = newFolder();
    const [plain, path] = [join(place, "plain.db"), join(place, "old.db")];
    for (const copy of [plain, path]) copyFileSync("test/fixtures/agents-0.22.0.sqlite", copy);
    const Ciphers = load("better-sqlite3-multiple-ciphers");
    const client = new Ciphers(path);
    client.pragma(`rekey = '${CANARY}'`);
    client.close();
    const reports = [];
    for (const store of [sqlite(plain), sqlite(path, { key: CANARY })]) {
      await store.migrate();
      reports.push([await store.check?.({ repair: true }), (await store.sessions.list({})).sessions.length]);
      await store.close();
    }
    expect(reports[1]).toEqual(reports[0]);
    expect(readFileSync(path).subarray(0, 15).toString()).not.toBe("SQLite format 3");
  });
});
