import { remote } from "../../../packages/client/src/remote/remote.js";
import type { StoreTarget } from "../../../packages/stemma/src/testing.js";
import type { Store } from "../../../packages/store/src/index.js";
import { ALL, type Choice, describeStore } from "../../describe-store.js";
import { lossy, OF_LOSSES } from "../../server/remote-losses.js";
import { consolidatingHere, type Fetch, type Networks } from "../../server/remote-target.js";
import { OBJECT, TOOLS } from "../../workers/remote/headers.js";
import type * as remotely from "../../workers/remote/worker.js";
import { describeWorkerd, type WorkerDefinition } from "../../workers/workerd.js";

const definition: WorkerDefinition<typeof remotely> = {
  entry: "remote/worker.ts",
  objects: { StoreObject: true, UserObject: true },
};

/** Where an administrator reaches an object, and where its user does. */
const OF_ALL = "/StoreObject/*/v1/rpc";
const OF_USERS = "/v1/rpc";

/** A store of one user has no others. */
const OF_A_USER: Choice = { topics: ALL ? ["order", "history", "deleting messages", "paging"] : ["order"] };

describeWorkerd("stemma/remote in workerd", definition, (workerd) => {
  let count = 0;
  const objects = new WeakMap<Store, string>();
  const open = (
    path: string,
    networkOf: Networks,
    object = `object ${++count}`,
    headers: Record<string, string> = {},
  ) => {
    const serve: Fetch = async (request) =>
      workerd.fetch(path.replace("*", encodeURIComponent(object)), {
        method: request.method,
        headers: { ...Object.fromEntries(request.headers), ...headers, [OBJECT]: object },
        body: await request.text(),
      });
    const capabilities = { check: path !== OF_USERS };
    const fetch = networkOf(serve, false);
    const store = remote({ baseUrl: "http://memory.test", apiKey: "k", fetch, capabilities, maxRetries: 20 });
    objects.set(store, object);
    return consolidatingHere(store);
  };
  const objectOf = (store: Store) => objects.get(store) as string;
  const rows = (store: Store, statement: string, ...values: string[]) =>
    workerd.object("StoreObject", objectOf(store)).rows(statement, ...values);
  const dump = async (store: Store) => {
    const tables = (await rows(
      store,
      "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name",
    )) as string[][];
    const shown = tables.flat().filter((name) => !/^_cf|^sqlite_|_fts/.test(name));
    return Promise.all(shown.map(async (name) => [name, await rows(store, `SELECT * FROM "${name}"`)]));
  };
  const targetOf = (name: string, path: string, networkOf: Networks = (serve) => serve): StoreTarget => ({
    name: `remote ${name}`,
    capabilities: { embeddings: false, check: path !== OF_USERS },
    open: () => open(path, networkOf),
    reopen: (store) => open(path, networkOf, objectOf(store)),
    ...(path !== OF_USERS && {
      openWithTools: () => open(path, networkOf, undefined, { [TOOLS]: "true" }),
      corrupt: async (store, sessionId, messageId) => {
        const where = "session_id = ? AND id = ?";
        await rows(
          store,
          `UPDATE assistant_messages SET content = substr(content, 1, 10) WHERE ${where}`,
          sessionId,
          messageId,
        );
      },
      damage: async (store, sql) => void (await rows(store, sql)),
      dump,
    }),
  });
  if (ALL) describeStore("workerd", targetOf("Durable Object", OF_ALL));
  const name = "Durable Object, with losses";
  describeStore("workerd", targetOf(name, OF_ALL, lossy(name)), OF_LOSSES);
  const ofUsers = "Durable Object of a user, through a Worker, with losses";
  describeStore("workerd", targetOf(ofUsers, OF_USERS, lossy(ofUsers)), OF_A_USER);
});
