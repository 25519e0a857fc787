// What it takes to tell whose a request is, in this process.
import { ApiKeys, authenticator } from "../../packages/stemma/dist/server.js";
import { cpuTime } from "../runner.mjs";

const CALLS = 5_000;

/** Milliseconds of a call, for a key that was seen within half a minute. */
export async function measureAuthentication({ store, key, rounds }) {
  const authenticate = authenticator({ keys: new ApiKeys(store) });
  const request = new Request("http://localhost/v1/sessions", { headers: { authorization: `Bearer ${key}` } });
  const values = [];
  for (let round = -1; round < rounds; round += 1) {
    const start = cpuTime();
    for (let call = 0; call < CALLS; call += 1) await authenticate(request);
    if (round >= 0) values.push((cpuTime() - start) / CALLS);
  }
  return [{ work: "authentication by an API key: CPU time", target: { atMost: 0.1 }, unit: " ms", values }];
}
