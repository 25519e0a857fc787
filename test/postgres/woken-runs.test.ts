import { postgres } from "../../packages/postgres/src/postgres.js";
import { describeWoken } from "../ai-sdk/woken-suite.js";
import { openPool } from "./databases.js";
import { describeServer } from "./server.js";

describeServer("on a server", (server) => {
  describeWoken("Postgres", async () => {
    const { source, close } = openPool(server.url);
    return { store: postgres(source), close };
  });
});
