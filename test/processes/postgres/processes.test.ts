import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { postgres } from "../../../packages/postgres/src/postgres.js";
import { Session } from "../../../packages/stemma/src/session.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import { FROM_SOURCES } from "../../../scripts/entry-points.mjs";
import { textMessage } from "../../helpers/messages.js";
import { ENGINES } from "../../postgres/engines.js";
import { describeServer } from "../../postgres/server.js";
import type { Task } from "../../postgres/writer-process.js";

const run = promisify(execFile);
// Inside the project, where the program finds its packages.
const cache = join(import.meta.dirname, "../../../node_modules/.cache");
let program = "";

beforeAll(async () => {
  mkdirSync(cache, { recursive: true });
  program = join(mkdtempSync(join(cache, "stemma-")), "writer.mjs");
  await build({
    entryPoints: [join(import.meta.dirname, "../../postgres/writer-process.ts")],
    outfile: program,
    ...FROM_SOURCES,
  });
});

afterAll(() => rmSync(join(program, ".."), { recursive: true, force: true }));

for (const engine of ENGINES) {
  describeServer(
    engine.name,
    (server) => {
      let url = "";
      let store: Store;

      beforeEach(async () => {
        url = await server.createDatabase();
        store = postgres(url);
      });

      afterEach(() => store.close());

      const inFour = (task: Omit<Task, "prefix">) =>
        Promise.all(
          ["a", "b", "c", "d"].map((prefix) =>
            run(process.execPath, [program, url, JSON.stringify({ ...task, prefix })]),
          ),
        );

      describe("four processes", () => {
        it("form one chain of 20 parallel appends, every message once, on tables that they make themselves", async () => {
          await inFour({ do: "append", count: 5 });
          await Session.create(store).appendMessage(textMessage("last"));
          const ids = (await Session.create(store).getHistory()).map(({ id }) => id);
          expect([ids.length, new Set(ids).size, ids.at(-1)]).toEqual([21, 21, "last"]);
          expect((await store.session("").tree()).map(({ parentId }) => parentId)).toEqual([null, ...ids.slice(0, -1)]);
          for (const prefix of ["a", "b", "c", "d"]) {
            expect(ids.filter((id) => id.startsWith(prefix))).toEqual([0, 1, 2, 3, 4].map((index) => prefix + index));
          }
        });

        it("keep 1,000 of 1,000 concurrent appends to a block", async () => {
          await inFour({ do: "block", count: 250 });
          const session = Session.create(store).withContext("memory");
          await session.tools();
          const block = session.getContextBlock("memory");
          const ids = block?.content.split(";").filter(Boolean) ?? [];
          expect([ids.length, new Set(ids).size, block?.version]).toEqual([1000, 1000, 1000]);
        });
      });

      describe("connections that are killed", () => {
        /**
         * Ends every connection to the database again and again while `work` runs, each time after something more was done:
         * on a slow machine no call would otherwise come to an end.
         */
        async function amidKills<T>(work: (done: () => void) => Promise<T>): Promise<{ result: T; killed: number }> {
          let killed = 0;
          let working = true;
          let calls = 0;
          const kill = async () => {
            let before = 0;
            while (working) {
              if (calls === before) {
                await new Promise((resolve) => setTimeout(resolve, 5));
                continue;
              }
              before = calls;
              const rows = await server.query(
                server.url,
                `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${url.split("/").at(-1)}'`,
              );
              killed += rows.length;
              await new Promise((resolve) => setTimeout(resolve, 20));
            }
          };
          const killing = kill();
          try {
            const result = await work(() => {
              calls += 1;
            });
            return { result, killed };
          } finally {
            working = false;
            await killing;
          }
        }

        it("during 500 appends lose and double no acknowledged message", async () => {
          await store.migrate();
          const names = ["one", "two", "three", "four", "five"];
          const sessions = names.map((name) => Session.create(store).forSession(name));
          const { killed } = await amidKills(async (done) => {
            for (let index = 0; index < 100; index += 1) {
              await Promise.all(
                sessions.map((session, at) => session.appendMessage(textMessage(`${names[at]}${index}`))),
              );
              // Only now: a call that met every kill would run out of attempts, which the other test allows.
              done();
            }
          });
          expect(killed).toBeGreaterThan(5);
          for (const name of names) {
            const ids = (await Session.create(store).forSession(name).getHistory()).map(({ id }) => id);
            expect(ids).toEqual(Array.from({ length: 100 }, (_, index) => name + index));
          }
        });

        it("during appends to a block lose and double nothing: a call says when its outcome is unknown", async () => {
          await store.migrate();
          const session = Session.create(store).withContext("memory");
          const ids = Array.from({ length: 200 }, (_, index) => `id${index}`);
          const { result: outcomes } = await amidKills((done) =>
            Promise.allSettled(ids.map((id) => session.appendContextBlock("memory", `${id};`).finally(done))),
          );
          const stored = (await store.blocks.get({ sessionId: "", kind: "block", label: "memory" }))?.content ?? "";
          const kept = stored.split(";\n").flatMap((id) => id.replace(";", "") || []);
          expect(new Set(kept).size).toBe(kept.length);
          for (const [index, outcome] of outcomes.entries()) {
            if (outcome.status === "fulfilled") expect(kept).toContain(ids[index]);
            else
              expect(outcome.reason).toMatchObject({ code: expect.stringMatching(/CONNECTION_LOST|PROVIDER_FAILED/) });
          }
        });
      });
    },
    engine,
  );
}
