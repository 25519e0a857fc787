import Database from "better-sqlite3";
import { afterEach, expect, it, vi } from "vitest";
import { Session } from "../../../packages/stemma/src/session.js";
import { isStandIn } from "../../runtimes/stand-in.js";

// Which modules a runtime has; what each does with a database is for the conformance suite.
const modules = vi.hoisted(() => new Map<string, unknown>());

vi.mock("node:module", async (original) => ({
  ...(await original<typeof import("node:module")>()),
  createRequire: () => (name: string) => {
    if (modules.has(name)) return modules.get(name);
    throw new Error(`Cannot find module '${name}'`);
  },
}));

afterEach(() => modules.clear());

// As in a process that starts now: a process looks for its engine once.
async function startProcess() {
  vi.resetModules();
  return (await import("../../../packages/store/src/sqlite.js")).sqlite;
}

it.skipIf(isStandIn)(
  "takes better-sqlite3 first, and node:sqlite where that is not there or does not load",
  async () => {
    const opened: string[] = [];
    const engine = (name: string) =>
      class extends Database {
        constructor(path: string) {
          super(path);
          opened.push(`${name} ${path}`);
        }
      };
    modules.set("node:sqlite", { DatabaseSync: engine("node:sqlite") });
    const sqlite = await startProcess();
    const session = Session.create(sqlite(":memory:"));
    await session.appendMessage({ id: "a", role: "user", parts: [] });
    expect(opened).toEqual(["node:sqlite :memory:"]);
    modules.set("better-sqlite3", engine("better-sqlite3"));
    await (await startProcess())(":memory:").migrate();
    expect(opened.at(-1)).toBe("better-sqlite3 :memory:");
    modules.set("better-sqlite3", () => {
      throw new Error("compiled against another version of Node");
    });
    await (await startProcess())(":memory:").migrate();
    expect(opened.at(-1)).toBe("node:sqlite :memory:");
  },
);

it.skipIf(isStandIn)("looks for the engine once in a process", async () => {
  modules.set("better-sqlite3", Database);
  const sqlite = await startProcess();
  await sqlite(":memory:").migrate();
  modules.clear();
  await sqlite(":memory:").migrate();
});

it("says what to install where there is no engine", async () => {
  const sqlite = await startProcess();
  let thrown: unknown;
  try {
    sqlite(":memory:");
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toMatchObject({
    code: "DRIVER_MISSING",
    message: expect.stringContaining("npm install better-sqlite3"),
    cause: {
      errors: [{ message: "Cannot find module 'better-sqlite3'" }, { message: "Cannot find module 'node:sqlite'" }],
    },
  });
});
