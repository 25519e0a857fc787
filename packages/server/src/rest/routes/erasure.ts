import { memoryOf, storeOfUser } from "../owner.js";
import { json, type Routes } from "../route.js";
import { ERASED, RECEIPT } from "../schemas.js";

export function erasureRoutes(routes: Routes): void {
  routes.add(
    "delete",
    "/v1/memory/{owner}",
    {
      access: "write",
      summary: "Erase a memory",
      description: "All blocks and entries of the owner, with their versions.",
      answers: { 200: ERASED },
    },
    async (call) => {
      const { store, scope } = memoryOf(call.store, call.ids.owner);
      return json(await store.deleteMemory(scope));
    },
  );

  routes.add(
    "delete",
    "/v1/users/{user}",
    {
      access: "write",
      summary: "Erase a user",
      description: "All sessions, blocks and entries that are kept for the user, with their versions.",
      answers: { 200: RECEIPT },
    },
    async ({ sessions, store, ids: { user } }) => {
      storeOfUser(store, user);
      return json(await sessions.eraseUser(user));
    },
  );
}
