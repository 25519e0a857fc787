// Counts what goes over the wire to a Postgres server, from a proxy in front of it.
import { connect, createServer } from "node:net";

const QUERY = "Q".charCodeAt(0);
const EXECUTE = "E".charCodeAt(0);

/**
 * A proxy on `port` for the server on `target`. `count(call)` tells how many statements a call ran, and how often the
 * client sent something after it had been answered: its round trips.
 */
export async function startProxy(target) {
  const counts = { statements: 0, roundTrips: 0 };
  const server = createServer((client) => {
    const upstream = connect(target, "127.0.0.1");
    const parse = parser((type) => {
      if (type === QUERY || type === EXECUTE) counts.statements += 1;
    });
    let answered = true;
    client.on("data", (data) => {
      if (answered) counts.roundTrips += 1;
      answered = false;
      parse(data);
      upstream.write(data);
    });
    upstream.on("data", (data) => {
      answered = true;
      client.write(data);
    });
    client.on("close", () => upstream.destroy());
    upstream.on("close", () => client.destroy());
    for (const socket of [client, upstream]) socket.on("error", () => socket.destroy());
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: server.address().port,
    count: async (call) => {
      Object.assign(counts, { statements: 0, roundTrips: 0 });
      await call();
      return { ...counts };
    },
    stop: () => new Promise((resolve) => server.close(resolve)),
  };
}

// Calls `seen` with the type of each message of the client. The first one has no type.
function parser(seen) {
  let pending = Buffer.alloc(0);
  let isFirst = true;
  return (data) => {
    pending = Buffer.concat([pending, data]);
    for (;;) {
      const head = isFirst ? 0 : 1;
      if (pending.length < head + 4) return;
      const length = head + pending.readInt32BE(head);
      if (pending.length < length) return;
      if (!isFirst) seen(pending[0]);
      isFirst = false;
      pending = pending.subarray(length);
    }
  };
}
