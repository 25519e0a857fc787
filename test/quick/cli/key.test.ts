import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { ApiKeys } from "../../../packages/server/src/index.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { commandLine, temporaryFolder } from "../../cli/run.js";

const folder = temporaryFolder();

describe("stemma key", () => {
  it("makes a key that lets in, shows it once, lists and revokes it", async () => {
    const stemma = commandLine(folder, "keys.db");
    const key = (await stemma.ok("key", "create", "back\nend", "--user", "ada", "--read-only")).trim();
    const reach = ["--memory-key", "a", "b", "--project", "x", "--days", "2"];
    const second = (await stemma.json("key", "create", "Team", ...reach)) as {
      readonly id: string;
      readonly key: string;
    };
    expect(second).toMatchObject({ name: "Team", access: "memory", keys: ["a", "b"], project: "x" });
    const store = sqlite(stemma.db);
    try {
      expect(await new ApiKeys(store).verify(key)).toMatchObject({ access: "memory", userId: "ada", readOnly: true });
      expect(await new ApiKeys(store).verify(second.key)).toMatchObject({ project: "x" });
    } finally {
      await store.close();
    }
    const listed = await stemma.ok("key", "list");
    expect(listed).toContain("(memory, user ada, read only)\n");
    expect(listed).toMatch(/Team {2}\(memory, project x, key a, key b, until \d{4}-\d\d-\d\d\)\n/);
    expect(listed.trim().split("\n")).toHaveLength(2);
    expect(listed).not.toContain(key.slice(13));
    expect(await stemma.ok("key", "revoke", second.id)).toBe(`Revoked ${second.id}.\n`);
    expect(await stemma.run("key", "revoke", second.id)).toMatchObject({
      code: 1,
      err: expect.stringContaining("no key"),
    });
  });

  it("makes a key with a quota, and lists it; refuses what is none", async () => {
    const stemma = commandLine(folder, "quotas.db");
    const quota = "writesPerDay=1000, bytesPerDay=5000000";
    const made = await stemma.json("key", "create", "Team", "--quota", quota);
    expect(made).toMatchObject({ quota: { writesPerDay: 1_000, bytesPerDay: 5_000_000 } });
    expect(await stemma.ok("key", "list")).toContain("(memory, writesPerDay 1000, bytesPerDay 5000000)\n");
    for (const wrong of [
      "",
      "7",
      "perDay=7",
      "writesPerDay",
      "writesPerDay=0",
      "writesPerDay=-1",
      "writesPerDay=1=2",
    ]) {
      expect(await stemma.run("key", "create", "a", "--quota", wrong)).toMatchObject({ code: 2 });
    }
    const twice = "writesPerDay=1,writesPerDay=2";
    expect(await stemma.run("key", "create", "a", "--quota", twice)).toMatchObject({ code: 2 });
  });

  it("makes and lists the keys of a tenant", async () => {
    const stemma = commandLine(folder, "tenants.db");
    await stemma.ok("key", "create", "all", "--access", "admin");
    await stemma.ok("key", "create", "theirs", "--tenant", "acme");
    expect(await stemma.ok("key", "list", "--tenant", "acme")).toMatch(/^\S+ {2}theirs {2}\(memory, tenant acme\)\n$/);
    const refused = await stemma.run("key", "create", "x", "--tenant", "../acme");
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining("1 to 48 characters") });
  });

  it("refuses an access that there is not, and lists none of a file that is not there", async () => {
    const stemma = commandLine(folder, "none.db");
    expect(await stemma.run("key", "create", "a", "--access", "root")).toMatchObject({ code: 2 });
    expect(await stemma.run("key", "list")).toMatchObject({ code: 1 });
    expect(existsSync(stemma.db)).toBe(false);
  });
});
