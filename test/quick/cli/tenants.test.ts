import { existsSync, linkSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { openTenants, tenantFiles } from "../../../packages/cli/src/serve/open-tenants.js";
import { remote } from "../../../packages/client/src/remote/remote.js";
import { createServer } from "../../../packages/server/src/index.js";
import { Session } from "../../../packages/stemma/src/session.js";
import { memory } from "../../../packages/store/src/memory.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { commandLine, run, temporaryFolder } from "../../cli/run.js";

const folder = temporaryFolder();

function openIn(name: string, own = join(folder, "control.db")) {
  const place = join(folder, name, "{tenant}.db");
  return openTenants({ tenants: place, maxTenants: 2 }, { db: own }, (store) => store);
}

describe("the tenants of stemma serve", () => {
  it("have a file each, which is made at the first use", async () => {
    const { tenants, close } = openIn("files");
    for (const name of ["acme", "globex", "initech"]) {
      const { store, release } = await tenants.hold(name);
      await store.sessions.create({ id: "chat", name });
      release();
    }
    await close();
    expect(readdirSync(join(folder, "files")).sort()).toEqual(["acme.db", "globex.db", "initech.db"]);
    const again = openIn("files");
    expect((await (await again.tenants.hold("acme")).store.sessions.get("chat"))?.name).toBe("acme");
    await again.close();
  });

  it("are never in the server's own file, by whatever name", async () => {
    const own = join(folder, "own", "keys.db");
    await openIn("own").close();
    const seen = openIn("own", own);
    const control = (await seen.tenants.hold("other")).store;
    await control.sessions.create({ id: "x", name: "x" });
    await seen.close();
    const store = sqlite(own);
    await store.migrate();
    linkSync(own, join(folder, "own", "hard.db"));
    symlinkSync(own, join(folder, "own", "soft.db"));
    const { tenants, close } = openIn("own", own);
    for (const name of ["keys", "hard", "soft"]) {
      await expect(tenants.hold(name)).rejects.toMatchObject({ code: "INVALID_ARGUMENT", details: { tenant: name } });
    }
    await close();
    await store.close();
  });

  it("take no file of another program", async () => {
    const { tenants, close } = openIn("foreign");
    (await tenants.hold("first")).release();
    const path = join(folder, "foreign", "other.db");
    writeFileSync(path, "no database");
    await expect(tenants.hold("other")).rejects.toMatchObject({ code: "NOT_A_DATABASE" });
    expect(existsSync(`${path}-wal`)).toBe(false);
    await close();
  });

  it("are apart for programs on stemma/remote, whose sessions have the same names", async () => {
    const { tenants, close } = openIn("remote");
    const server = createServer(memory(), {
      authenticate: ({ headers }) => ({
        id: "k",
        access: "memory",
        tenant: headers.get("authorization")?.slice(7) ?? "",
      }),
      tenants,
    });
    const names = ["acme", "globex", "initech", "umbrella"];
    const sessions = names.map((apiKey) => {
      const fetch = (asked: string | URL | Request, init?: RequestInit) => server(new Request(asked, init));
      const store = remote({ baseUrl: "https://memory.example.com", apiKey, fetch: fetch as never });
      return Session.create(store).forSession("chat").withContext("notes", { maxTokens: 100 });
    });
    for (const text of ["first", "second", "third"]) {
      const append = async (session: Session, n: number) => {
        await session.appendMessage({ id: text, role: "user", parts: [{ type: "text", text: `${names[n]} ${text}` }] });
        await session.appendContextBlock("notes", `${names[n]} `);
      };
      await Promise.all(sessions.map(append));
    }
    for (const [n, session] of sessions.entries()) {
      const texts = JSON.stringify(await session.getHistory());
      expect(names.filter((name) => texts.includes(name))).toEqual([names[n]]);
      expect((await session.search(names[n] ?? "")).length).toBe(3);
    }
    await close();
  });

  it("need a database of Postgres, or a path", async () => {
    const { code, err } = await run(["--db", join(folder, "a.db"), "serve", "--port", "0", "--tenants", "schema"]);
    expect([code, err]).toEqual([1, expect.stringContaining("a path with {tenant}")]);
    expect((await run(["serve", "--tenants", "all.db"])).code).toBe(2);
  });
});

describe("stemma tenants", () => {
  it("lists tenants, and erases one with its file, its folder and its keys", async () => {
    const stemma = commandLine(folder, "erasing.db");
    const place = join(folder, "erasing", "{tenant}", "memory.db");
    await stemma.ok("key", "create", "k", "--tenant", "acme");
    await stemma.ok("key", "create", "k", "--tenant", "new");
    const { tenants, close } = openTenants({ tenants: place, maxTenants: 2 }, { db: stemma.db }, (store) => store);
    for (const name of ["acme", "globex"]) {
      const { store, release } = await tenants.hold(name);
      await store.sessions.create({ id: "chat", name });
      release();
    }
    await close();
    writeFileSync(join(folder, "erasing", "notes.txt"), "");
    const at = ["--tenants", place];
    expect(await stemma.ok("tenants", "list", ...at)).toMatch(
      /^TENANT +KEYS +STATE\nacme +1 +stored\nglobex +0 +stored\nnew +1 +not stored yet\n$/,
    );
    expect((await stemma.run("tenants", "erase", "acme", ...at)).err).toContain("Nothing was erased");
    for (const yes of [[], ["--yes"]]) {
      const { code, err } = await stemma.run("tenants", "erase", "akme", ...yes, ...at);
      expect([code, err]).toEqual([1, expect.stringContaining("There is no tenant akme")]);
    }
    expect(await stemma.run("tenants", "list")).toMatchObject({ code: 2, err: expect.stringContaining("--tenants") });
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    try {
      const erasing = stemma.ok("tenants", "erase", "acme", "--yes", ...at);
      let isOver = false;
      void erasing.finally(() => {
        isOver = true;
      });
      while (!isOver) {
        await vi.advanceTimersByTimeAsync(500);
        await new Promise((next) => setImmediate(next));
      }
      expect(await erasing).toBe("acme is erased; keys revoked: 1.\n");
    } finally {
      vi.useRealTimers();
    }
    expect(readdirSync(join(folder, "erasing")).sort()).toEqual(["globex", "notes.txt"]);
    const left = await stemma.jsonLines("tenants", "list", ...at);
    expect(left).toEqual([
      { tenant: "acme", keys: 0, isStored: false, erasure: "erased" },
      { tenant: "globex", keys: 0, isStored: true, erasure: null },
      { tenant: "new", keys: 1, isStored: false, erasure: null },
    ]);
  });

  it("removes the files of SQLite alone, and none of another program or of the server", () => {
    const at = join(folder, "files-of");
    const own = join(at, "keys.db");
    const files = tenantFiles(join(at, "{tenant}.db"), { db: own });
    expect(files.names()).toEqual([]);
    mkdirSync(at);
    writeFileSync(own, "");
    for (const name of ["acme.db", "acme.db-wal", "acme.db-shm", "acme.db.bak", "acme2.db", "Acme.db"]) {
      writeFileSync(join(at, name), "");
    }
    expect(files.names()).toEqual(["acme", "acme2"]);
    expect([files.remove("acme"), files.remove("acme")]).toEqual([true, false]);
    expect(readdirSync(at).sort()).toEqual(["Acme.db", "acme.db.bak", "acme2.db", "keys.db"]);
    writeFileSync(join(at, "other.db"), "no database at all, but a text");
    for (const name of ["keys", "other"]) expect(() => files.remove(name)).toThrow();
    expect(existsSync(join(at, "other.db"))).toBe(true);
  });
});
