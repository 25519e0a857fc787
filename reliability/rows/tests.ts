import type { Row, Scene } from "../tools/row.js";
import { runTests, type Tests } from "../tools/vitest.js";

// Rows whose programs are tests. A quick run leaves out those that `npx vitest run` runs as they are.

const result = ({ failed }: Tests, figure: string) => ({ figure, met: failed.length === 0, details: failed });

export const flippedDatabases: Row = {
  number: 16,
  title: "{size} databases with a flipped bit or a changed value",
  target: "0 crashes, 0 losses that a read or `check` does not name",
  sizes: { SQLite: [5_000, 0] },
  async run({ folder, size }: Scene) {
    const env = { STEMMA_FLIPS: String(size), STEMMA_FLIPS_SEED: "1" };
    const tests = runTests(folder, ["test/processes/store/flips.test.ts"], env);
    const counts = JSON.parse(/flips of \d+ images: (\{.*?\})/.exec(tests.output)?.[1] ?? "{}") as Record<
      string,
      number
    >;
    const noticed = (counts.read ?? 0) + (counts.checked ?? 0) + (counts.unopened ?? 0);
    const figure = `${tests.failed.length} unnoticed; ${noticed} noticed, ${counts.same} harmless, ${counts.onlyCopy} in values with no second copy`;
    return result(tests, figure);
  },
};

export const upgrades: Row = {
  number: 19,
  title: "upgrades to a made-up version, from `agents` and from the documents' tables, cut off at any statement",
  target: "nothing lost",
  sizes: { SQLite: [1, 0], Postgres: [1, 0], workerd: [1, 0] },
  async run({ folder, engine }: Scene) {
    const files = {
      SQLite: ["/upgrade/", "test/engines/store/migrations.test.ts"],
      Postgres: ["test/engines/postgres/migrations.test.ts", "test/engines/postgres/upgrade.test.ts"],
      workerd: ["test/platforms/workers/upgrade.test.ts"],
    }[engine as "SQLite"];
    const tests = runTests(folder, files);
    return result(tests, `${tests.failed.length} of ${tests.passed + tests.failed.length} cases lose something`);
  },
};

export const rowsOfColdObject: Row = {
  number: 23,
  title: "rows that a cold object reads for its first append, at 10,000 messages",
  target: "≤ 6",
  sizes: { workerd: [1, 0] },
  async run({ folder }: Scene) {
    const tests = runTests(folder, ["test/platforms/workers/counts.test.ts"]);
    const rows = [...tests.output.matchAll(/(\d+) +\d+ +cold open to first append/g)].map(([, read]) => Number(read));
    const most = Math.max(...rows);
    return {
      figure: `${most} rows`,
      met: rows.length > 0 && most <= 6 && tests.failed.length === 0,
      details: tests.failed,
    };
  },
};

export const scriptsInStudio: Row = {
  number: 27,
  title: "200 payloads in every field that the studio shows, in Chromium",
  target: "0 run",
  sizes: { everywhere: [200, 0] },
  async run({ folder }: Scene) {
    const tests = runTests(folder, ["test/platforms/studio/xss.test.ts"]);
    const figure = `${tests.failed.length} of ${tests.passed + tests.failed.length} pages run something`;
    return { ...result(tests, figure), met: tests.failed.length === 0 && tests.passed > 0 };
  },
};

export const foreignHosts: Row = {
  number: 29,
  title: "a foreign `Host` or `Origin` on every route of the studio, of MCP and of the chat",
  target: "refused",
  sizes: { everywhere: [1, 0] },
  async run({ folder }: Scene) {
    const studio = runTests(folder, ["test/quick/studio/routes.test.ts"]);
    const mcp = runTests(folder, [
      "test/frameworks/mcp/http.test.ts",
      "-t",
      "answers its own token, host and origin only",
    ]);
    const chat = runTests(folder, ["test/quick/ai-sdk/chat-handler.test.ts", "-t", "whoever asks"]);
    const failed = [studio, mcp, chat].flatMap((tests) => tests.failed);
    const passed = studio.passed + mcp.passed + chat.passed;
    return { figure: `${failed.length} answered, of ${passed} cases`, met: failed.length === 0, details: failed };
  },
};
