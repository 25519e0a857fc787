import { guard } from "../../../packages/server/src/index.js";
import type { Store } from "../../../packages/store/src/index.js";
import { memory } from "../../../packages/store/src/memory.js";
import { describeStore } from "../../describe-store.js";

// Whoever reaches everything is given what the store gives. Nobody closes the database through a guard, so the suite does it itself.
const guarded = (store: Store): Store => {
  const all = guard(store, { id: "root", access: "admin" });
  return { ...all, forUser: (userId) => ({ ...all.forUser(userId), whole: all }), close: () => store.close() };
};

describeStore("memory", {
  name: "guarded",
  open: () => guarded(memory()),
  capabilities: { embeddings: false },
});
