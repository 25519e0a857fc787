// A server as a process, which kills itself after as many statements as a request tells it to. Prints its address.
import { listen } from "../../packages/cli/src/http/listen.js";
import type { Store } from "../../packages/store/src/index.js";
import { sqlite } from "../../packages/store/src/sqlite.js";
import { openDatabase } from "../store/databases.js";
import { failingClient } from "../store/file-target.js";
import { DATABASE, STATEMENTS } from "./killed-headers.js";
import { type Fetch, serverFor } from "./remote-target.js";

/** Statements until the end; negative for none. */
let left = -1;

const killIf = (isPlace: boolean) => {
  if (isPlace) process.kill(process.pid, "SIGKILL");
};
const before = () => killIf(left === 0);
const after = () => {
  if (left > 0) left -= 1;
  killIf(left === 0);
};

let open: { readonly path: string; readonly store: Store; readonly serve: Fetch } | undefined;

const { port } = await listen(
  async (request) => {
    const path = request.headers.get(DATABASE) ?? "";
    if (open?.path !== path) {
      await open?.store.close();
      const store = sqlite(failingClient(openDatabase(path), before, after));
      open = { path, store, serve: serverFor(store) };
    }
    const statements = request.headers.get(STATEMENTS);
    if (statements !== null && left < 0) left = Number(statements);
    return open.serve(request);
  },
  { host: "127.0.0.1", port: 0 },
);
console.log(JSON.stringify({ url: `http://127.0.0.1:${port}` }));
