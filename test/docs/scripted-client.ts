import { ApiKeys, authenticator, createServer } from "../../packages/server/src/index.js";
import { StemmaClient as Client, type StemmaClientOptions } from "../../packages/stemma/src/client.js";
import { memory } from "../../packages/stemma/src/memory.js";
import { remote as remoteStore } from "../../packages/stemma/src/remote.js";

const store = memory();
const keys = new ApiKeys(store);
const { key } = await keys.create({ name: "docs", access: "admin" });
const server = createServer(store, { authenticate: authenticator({ keys }) });

export { StemmaError } from "../../packages/stemma/src/client.js";

/** A store on a server that needs no network. */
export const remote = () => remoteStore({ baseUrl: "http://localhost", apiKey: key, fetch: server });

/** A client of a server that needs no network, whatever its options say. */
export class StemmaClient extends Client {
  constructor(options: StemmaClientOptions = {}) {
    super({ ...options, baseUrl: "http://localhost", apiKey: key, token: undefined, fetch: server });
  }
}
