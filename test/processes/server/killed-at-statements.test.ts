import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, it } from "vitest";
import { buildCommand, temporaryFolder } from "../../cli/run.js";
import { makeFastFolder } from "../../helpers/fast-folder.js";
import { BUILT_COMMAND as BUILT } from "../../package/manifest.js";
import { describeServer } from "../../postgres/server.js";
import { bundle } from "../../runner/bundle.js";
import { filePlaces, type Places, schemaPlaces } from "../../server/crash-places.js";
import { ALL, crashAtStatements } from "../../server/crash-rounds.js";
import { ASKED, COMMONEST } from "../../server/crashed-calls.js";
import { KilledServers } from "../../server/killed-servers.js";

const asked = ALL ? ASKED : COMMONEST;
const step = ALL ? 1 : 20;
const folder = makeFastFolder();
const temporary = temporaryFolder();
let program: string;
let config: string;

beforeAll(async () => {
  // The built command starts in half of the time. It may be older than the sources.
  program = ALL && existsSync(BUILT) ? BUILT : await buildCommand(temporary);
  config = join(await bundle("killing-config", ["test/server/killing-config.ts"]), "killing-config.mjs");
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function callsAreMadeOnce(name: string, tenants: () => string, placesOf: () => Places): void {
  let kills = 0;
  let servers: KilledServers;
  let places: Places;
  beforeAll(() => {
    const db = join(folder, `server-of-${name}.db`);
    servers = new KilledServers(program, ["--db", db, "--tenants", tenants(), "--config", config]);
    places = placesOf();
  });
  afterAll(async () => {
    await servers?.stop();
    console.log(`${kills} servers on ${name} were killed at a statement, of ${asked.length} calls`);
  });
  for (const [place, each] of asked.entries()) {
    it(`are made once by the next server: ${each.title}`, { timeout: 1_200_000 }, async () => {
      const open = servers.open.bind(servers);
      kills += await crashAtStatements(each, places, open, { first: place % step, step });
    });
  }
}

describe("calls of a `stemma serve` on SQLite that is killed at a statement", () => {
  const place = () => join(folder, "{tenant}.db");
  callsAreMadeOnce("SQLite", place, () => filePlaces(folder));
});

describeServer("calls of a `stemma serve` on Postgres that is killed at a statement", (server) => {
  callsAreMadeOnce(
    "Postgres",
    () => server.url,
    () => schemaPlaces(server.url),
  );
});
