import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { postgres } from "../../../packages/postgres/src/postgres.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import { run, temporaryFolder } from "../../cli/run.js";
import { describeServer } from "../../postgres/server.js";

describeServer("the command line on Postgres", (server) => {
  const folder = temporaryFolder();
  let url = "";
  let app = "";
  let asApp = "";
  const stores: Store[] = [];

  beforeEach(async () => {
    url = await server.createDatabase();
    app = `app_${url.split("/").at(-1)}`;
    await server.query(url, `CREATE ROLE ${app} LOGIN`);
    asApp = url.replace("postgres@", `${app}@`);
  });

  afterEach(async () => {
    for (const store of stores.splice(0)) await store.close();
  });

  async function stemma(...args: string[]): Promise<string> {
    const { code, out, err } = await run(args);
    expect([code, err]).toEqual([0, ""]);
    return out;
  }

  it("imports, lists, shows, searches and deletes", async () => {
    const file = join(folder, "talk.json");
    const messages = [
      { role: "user", content: "Where do penguins live?" },
      { role: "assistant", content: "In the south." },
    ];
    writeFileSync(file, JSON.stringify([{ id: "birds", messages }]));
    await stemma("--db", url, "import", file);
    expect(await stemma("--db", url, "sessions")).toContain("birds");
    expect(await stemma("--db", url, "show", "birds")).toContain("In the south.");
    expect(await stemma("--db", url, "search", "penguin")).toContain("birds");
    await stemma("--db", url, "delete", "birds", "--yes");
    expect(await stemma("--db", url, "sessions")).toContain("No sessions yet");
  });

  it("does not show the password of a URL", async () => {
    const withPassword = url.replace("postgres@", "postgres:s3cret@");
    expect(await stemma("--db", withPassword, "migrate")).toMatch(
      /^The tables of postgres:\/\/postgres:\*\*\*@.* are ready\.\n$/,
    );
    expect(JSON.parse(await stemma("--db", withPassword, "--json", "migrate")).database).not.toContain("s3cret");
  });

  it("refuses a schema of a SQLite file", async () => {
    const { code, err } = await run(["--db", join(folder, "x.db"), "--schema", "app", "migrate"]);
    expect([code, err]).toEqual([1, expect.stringContaining("leave --schema out")]);
  });

  describe.each([
    ["of the search path", undefined],
    ["that is named", "it's\" a schéma"],
  ])("where the role may not make tables, in a schema %s", (_title, schema) => {
    const quoted = schema === undefined ? "public" : `"${schema.replaceAll('"', '""')}"`;
    const grant = () =>
      server.query(
        url,
        `GRANT USAGE ON SCHEMA ${quoted} TO ${app};
         GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${quoted} TO ${app}`,
      );
    const open = (): Store => {
      const store = postgres(asApp, { schema });
      stores.push(store);
      return store;
    };

    beforeEach(() => server.query(url, "REVOKE CREATE ON SCHEMA public FROM PUBLIC"));

    it("the error names a command, which makes them", async () => {
      const refusal = await open()
        .migrate()
        .catch((error) => error);
      expect(refusal).toMatchObject({ code: "MIGRATION_REQUIRED", details: { role: app } });
      const command = /`npx stemma (.*?)`/.exec(refusal.message)?.[1] ?? "";
      await stemma(...wordsOf(command.replace("<url of a role that may>", url)));
      await grant();
      expect(await open().sessions.list({})).toEqual({ sessions: [], nextCursor: null });
    });

    it("the SQL that the command prints makes them", async () => {
      const args = schema === undefined ? [] : ["--schema", schema];
      await server.query(url, await stemma("migrate", "--print", ...args));
      await grant();
      expect(await open().sessions.create({ id: "s", name: "s" })).toMatchObject({ id: "s" });
    });

    it("and has no rights on those that are there, the error says which to grant", async () => {
      await postgresOf(url, schema);
      const refusal = await open()
        .sessions.list({})
        .catch((error) => error);
      expect(refusal).toMatchObject({ code: "STORE_FAILED", message: expect.stringContaining("Grant the role USAGE") });
    });
  });

  async function postgresOf(owner: string, schema: string | undefined): Promise<void> {
    const store = postgres(owner, { schema });
    stores.push(store);
    await store.migrate();
  }
});

/** What a shell makes of a command line. */
function wordsOf(line: string): string[] {
  const words = [...line.matchAll(/(?:[^\s'\\]|\\.|'[^']*')+/g)].map(([word]) => word);
  return words.map((word) => word.replace(/'([^']*)'|\\(.)/g, "$1$2"));
}
