import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe } from "vitest";
import { postgres } from "../../../packages/postgres/src/postgres.js";
import { SqliteSessionStorage, StoreSessionStorage } from "../../../packages/stemma/src/agent.js";
import { durableObject } from "../../../packages/store/src/durable-object.js";
import { objectContext } from "../../documents/host.js";
import { describeServer } from "../../postgres/server.js";
import { describeFirstSaves } from "../../runner/first-saves.js";

const folder = mkdtempSync(join(tmpdir(), "stemma-first-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let places = 0;

describe("two storages on a SQLite file", () => {
  describeFirstSaves(async () => {
    const path = join(folder, `${++places}.db`);
    return [new SqliteSessionStorage(path), new SqliteSessionStorage(path)];
  });
});

describe("two storages on a Durable Object", () => {
  describeFirstSaves(async () => {
    const ctx = objectContext();
    return [new StoreSessionStorage(durableObject(ctx)), new StoreSessionStorage(durableObject(ctx))];
  });
});

describeServer("two storages on Postgres", (server) => {
  describeFirstSaves(async () => {
    const [a, b] = [postgres(server.url), postgres(server.url)];
    await a.sessions.delete("s");
    return [new StoreSessionStorage(a), new StoreSessionStorage(b)];
  });
});
