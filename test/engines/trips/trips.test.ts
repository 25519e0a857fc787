import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll } from "vitest";
import { memory } from "../../../packages/store/src/memory.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { describeTrips } from "../../trips/describe-trips.js";
import { newFolder } from "../../trips/trips.js";

const folder = newFolder();
let count = 0;

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describeTrips({ memory, SQLite: () => sqlite(join(folder, `${++count}.db`)) }, { values: 400, stores: 1, each: 60 });
