import { storeOfUser } from "./owner.js";
import { json, type Routes } from "./route.js";
import { RECEIPT } from "./schemas.js";

export function userRoutes(routes: Routes): void {
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
