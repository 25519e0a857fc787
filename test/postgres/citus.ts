import pg from "pg";
import { afterAll, describe, it } from "vitest";

/** A cluster of Citus that a test may fill: the schemas that it makes are gone after it. */
export interface Cluster {
  /** A URL of the coordinator, whose connections have these settings. */
  urlWith(settings: Readonly<Record<string, string>>): string;
  /** Runs SQL as the superuser on the coordinator, or on the server of another URL. */
  query(sql: string, url?: string): Promise<Record<string, unknown>[]>;
  /** Runs a script as psql does, one statement after the other: Citus sends some to workers as the text that it was given. */
  runScript(script: string, url: string): Promise<void>;
  /** The name of a schema that is not there yet. */
  nextSchema(): string;
}

const GIVEN = process.env.STEMMA_CITUS;

/** Up to a semicolon that stands in no body of a function, comment or text. */
const STATEMENT = /(?:\$(\w*)\$[\s\S]*?\$\1\$|--[^\n]*|'[^']*'|[^;])+/g;

let schemas = 0;

/** Registers tests that need a cluster: where none is given they are skipped by name, in CI too. */
export function describeCitus(title: string, body: (cluster: Cluster) => void): void {
  if (GIVEN === undefined) {
    it.skip(`${title} (no cluster: node scripts/test-citus.mjs <url>)`, () => {});
    return;
  }
  describe(title, () => {
    const made: string[] = [];
    const query = async (sql: string, url = GIVEN) => {
      const client = new pg.Client(url);
      await client.connect();
      try {
        const result = await client.query(sql);
        return (Array.isArray(result) ? result.at(-1) : result).rows ?? [];
      } finally {
        await client.end();
      }
    };
    const runScript = async (script: string, url: string) => {
      const client = new pg.Client(url);
      await client.connect();
      try {
        for (const [statement] of script.matchAll(STATEMENT)) await client.query(statement);
      } finally {
        await client.end();
      }
    };
    afterAll(async () => {
      for (const schema of made) await query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
    }, 600_000);
    body({
      urlWith: (settings) => withSettings(GIVEN, settings),
      query,
      runScript,
      nextSchema: () => {
        schemas += 1;
        made.push(`citus${process.pid}_${schemas}`);
        return made.at(-1) as string;
      },
    });
  });
}

/**
 * A statement as Citus takes it. It refuses one that gives rows another session, since they would belong to another server: the same
 * damage comes of rows that are written there and deleted where they were.
 */
export function movingRows(sql: string): string {
  const found = /^UPDATE (\S+\.(?:(assistant_sessions)|\w+)) SET (id|session_id) = ('[^']*') WHERE (.+)$/.exec(sql);
  if (found === null) return sql;
  const [, table, registry, column, value, condition] = found;
  if (column !== (registry === undefined ? "session_id" : "id")) return sql;
  return `CREATE TEMP TABLE moved ON COMMIT DROP AS SELECT * FROM ${table} WHERE ${condition};
    UPDATE moved SET ${column} = ${value};
    DELETE FROM ${table} WHERE ${condition};
    INSERT INTO ${table} SELECT * FROM moved`;
}

function withSettings(given: string, settings: Readonly<Record<string, string>>): string {
  const url = new URL(given);
  const options = Object.entries(settings).map(([name, value]) => `-c ${name}=${value}`);
  url.searchParams.set("options", options.join(" "));
  return url.href;
}
