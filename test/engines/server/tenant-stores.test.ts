import { Tenants } from "../../../packages/server/src/index.js";
import type { StoreTarget } from "../../../packages/stemma/src/testing.js";
import type { Store } from "../../../packages/store/src/index.js";
import { memory } from "../../../packages/store/src/memory.js";
import { describeStore } from "../../describe-store.js";

// Nobody closes a tenant's store but the server, so the suite does it itself.
const ofTenant = async (store: Store): Promise<Store> => {
  const tenants = new Tenants(() => store);
  const { store: face, release } = await tenants.hold("acme");
  release();
  return {
    ...face,
    forUser: (userId) => ({ ...face.forUser(userId), close: () => store.close() }),
    close: () => store.close(),
  };
};

const target: StoreTarget = {
  name: "of a tenant",
  open: () => ofTenant(memory()),
  capabilities: { embeddings: false },
};

/** Each part of a store, and the order of calls. */
const OF_PARTS = [
  "messages",
  "sessions",
  "blocks of users and keys",
  "learned facts",
  "records",
  "search",
  "owners",
  "order",
];

describeStore("memory", target, { differsIn: OF_PARTS });
