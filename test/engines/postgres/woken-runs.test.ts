import { postgres } from "../../../packages/postgres/src/postgres.js";
import { describeWoken } from "../../ai-sdk/woken-suite.js";
import { openPool } from "../../postgres/databases.js";
import { describeServer } from "../../postgres/server.js";

describeServer("on a server", (server) => {
  describeWoken("Postgres", async () => {
    const { source, close } = openPool(server.url);
    return { store: postgres(source), close };
  });
});
