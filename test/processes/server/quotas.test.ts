import { join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import { StemmaClient } from "../../../packages/client/src/index.js";
import { buildCommand, temporaryFolder } from "../../cli/run.js";
import { startServed } from "../../cli/served.js";

const folder = temporaryFolder();
let program: string;

beforeAll(async () => {
  program = await buildCommand(folder);
});

const ADMIN = "a-secret-of-the-administrator";
const LIMIT = 300;
const USED = 40;

it("a quota loses with a server that is killed no more than that used, and with one that ends nothing", async () => {
  const args = ["--db", join(folder, "quotas.db"), "--drain-delay", "0"];
  const begin = () => startServed(program, args, { STEMMA_ADMIN_KEY: ADMIN });
  const [killed, ended, last] = [await begin(), await begin(), await begin()];
  const made = await fetch(`${last.url}/v1/keys`, {
    method: "POST",
    headers: { authorization: `Bearer ${ADMIN}`, "content-type": "application/json" },
    body: JSON.stringify({ name: "k", quota: { requestsPerDay: LIMIT } }),
  });
  const { key: apiKey, id } = (await made.json()) as { key: string; id: string };
  const ask = (url: string) => new StemmaClient({ baseUrl: url, apiKey, maxRetries: 0 }).limits();
  const used = async () => (await new StemmaClient({ baseUrl: last.url, apiKey: ADMIN }).quota(id)).data[0]?.used ?? 0;

  for (let n = 0; n < USED; n += 1) await ask(ended.url);
  ended.process.stop("SIGTERM");
  expect(await ended.process.ended).toEqual({ code: 0, signal: null });
  expect(await used()).toBe(USED);

  for (let n = 0; n < USED; n += 1) await ask(killed.url);
  killed.process.stop("SIGKILL");
  await killed.process.ended;
  const counted = await used();
  expect(counted).toBeGreaterThanOrEqual(2 * USED);
  expect(counted).toBeLessThanOrEqual(2 * USED + Math.min(USED, (LIMIT - 2 * USED) / 10 + 1));

  let left = 0;
  while (await ask(last.url).then(Boolean, () => false)) left += 1;
  expect(left).toBe(LIMIT - counted);
  last.process.stop("SIGTERM");
  await last.process.ended;
});
