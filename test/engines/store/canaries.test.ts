// Two users, nobody and a key, each with words of their own, on every surface.
import { postgres } from "../../../packages/postgres/src/postgres.js";
import { durableObject } from "../../../packages/store/src/durable-object.js";
import { objectContext } from "../../documents/host.js";
import { describeCanaries } from "../../learning/describe-canaries.js";
import { describeServer } from "../../postgres/server.js";

describeServer("canaries on Postgres", (server) => {
  describeCanaries("a canary run on Postgres", async () => postgres(await server.createDatabase()));
});
describeCanaries("a canary run in a Durable Object", () => durableObject(objectContext()));
