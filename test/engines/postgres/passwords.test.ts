import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgresJs from "postgres";
import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest";
import { postgres } from "../../../packages/postgres/src/postgres.js";
import { describeOwnServer } from "../../postgres/server.js";

const folder = mkdtempSync(join(tmpdir(), "stemma-passwords-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(() => vi.unstubAllEnvs());

describeOwnServer("a URL without its password", (server) => {
  const secret = "a-secret";
  // The role may log in with its password only.
  beforeAll(async () => {
    await server.query(server.url, `CREATE ROLE guarded LOGIN SUPERUSER PASSWORD '${secret}'`);
    const [row] = await server.query(server.url, "SHOW hba_file");
    const rules = ["host all guarded all scram-sha-256", "host all all all trust", "local all all trust"];
    const lines = rules.map((rule) => `('${rule}')`).join(", ");
    await server.query(server.url, `COPY (VALUES ${lines}) TO '${row?.hba_file}'`);
    await server.query(server.url, "SELECT pg_reload_conf()");
  });
  const guarded = () => {
    const url = new URL(server.url);
    url.username = "guarded";
    url.password = "";
    return url;
  };
  const count = async (store: ReturnType<typeof postgres>) => {
    try {
      return await store.sessions.count();
    } finally {
      await store.close();
    }
  };

  it("is completed by PGPASSWORD, by pg and by postgres.js", async () => {
    const { href } = guarded();
    vi.stubEnv("PGPASSFILE", join(folder, "none"));
    vi.stubEnv("PGPASSWORD", secret);
    expect(await count(postgres(href))).toBe(0);
    const sql = postgresJs(href, { onnotice: () => {} });
    expect(await count(postgres(sql as never))).toBe(0);
    await sql.end();
    vi.stubEnv("PGPASSWORD", "wrong");
    await expect(count(postgres(href))).rejects.toThrow();
  });

  it("is completed by the password file, by pg only", async () => {
    const { href, hostname, port, username } = guarded();
    const file = join(folder, "pgpass");
    writeFileSync(file, `${hostname}:${port}:*:${username}:${secret}\n`, { mode: 0o600 });
    vi.stubEnv("PGPASSWORD", undefined);
    vi.stubEnv("PGPASSFILE", file);
    expect(await count(postgres(href))).toBe(0);
    const sql = postgresJs(href, { onnotice: () => {} });
    await expect(count(postgres(sql as never))).rejects.toThrow();
    await sql.end();
  });
});
