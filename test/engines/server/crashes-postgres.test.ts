import { afterAll, beforeAll, describe, it } from "vitest";
import { describeServer } from "../../postgres/server.js";
import { type Place, type Places, schemaPlaces } from "../../server/crash-places.js";
import { ALL, type Crashing, crashAtStatements } from "../../server/crash-rounds.js";
import { ASKED, COMMONEST } from "../../server/crashed-calls.js";
import { CrashingServers } from "../../server/crashing-servers.js";
import { servesSchema } from "../../server/crashing-stores.js";
import { TerminatedServer } from "../../server/terminated-server.js";

const asked = ALL ? ASKED : COMMONEST;
const step = ALL ? 1 : 9;

describeServer("a call of a server on Postgres", (server) => {
  let places: Places;
  beforeAll(() => {
    places = schemaPlaces(server.url);
  });
  const schemaOf = ({ tenant }: Place) => `stemma_${tenant}`;
  const isMadeOnce = (what: string, shift: number, open: (place: Place) => Crashing) =>
    describe(`where ${what} at a statement`, () => {
      let times = 0;
      afterAll(() => console.log(`${times} times ${what}, of ${asked.length} calls on Postgres`));
      for (const [number, each] of asked.entries()) {
        const first = (number + shift) % step;
        it(`is made once: ${each.title}`, { timeout: 600_000 }, async () => {
          times += await crashAtStatements(each, places, open, { first, step });
        });
      }
    });
  isMadeOnce("the server ends", 0, (place) => new CrashingServers(servesSchema(server.url, schemaOf(place))));
  isMadeOnce("the connection is terminated", 3, (place) => new TerminatedServer(server.url, schemaOf(place), "before"));
  isMadeOnce("the answer is lost", 6, (place) => new TerminatedServer(server.url, schemaOf(place), "after"));
});
