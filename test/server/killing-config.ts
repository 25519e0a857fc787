// A module for --config of `stemma serve`: the process kills itself after as many statements as a request tells it to.
import Database from "better-sqlite3";
import pg from "pg";
import { withEverything } from "../../packages/server/test/quick/with-everything.js";
import { STATEMENTS, TENANT } from "./killed-headers.js";

/** Statements until the end; negative for none. */
let left = -1;

function end(): never {
  process.kill(process.pid, "SIGKILL");
  // The signal may come a moment later.
  for (;;);
}

function countStatement(): void {
  if (left > 0) left -= 1;
  if (left === 0) end();
}

type Method = (this: unknown, ...values: unknown[]) => unknown;

/** Has `after` called behind each call of a method. */
function extend(prototype: object, name: string, after: () => void): void {
  const method = Reflect.get(prototype, name) as Method;
  const extended: Method = function (...values) {
    const result = method.apply(this, values);
    after();
    return result;
  };
  Object.assign(prototype, { [name]: extended });
}

const database = new Database(":memory:");
const statements = Object.getPrototypeOf(database.prepare("SELECT 1"));
database.close();
for (const name of ["run", "all", "get", "iterate"]) extend(statements, name, countStatement);
// It is sent, and nobody waits for the answer.
extend(pg.Client.prototype, "query", countStatement);

export default {
  sessions: withEverything,
  authenticate: ({ headers }: Request) => {
    const planned = headers.get(STATEMENTS);
    if (planned !== null && left < 0) left = Number(planned);
    if (left === 0) end();
    return { id: "root", access: "admin", tenant: headers.get(TENANT) ?? undefined };
  },
};
