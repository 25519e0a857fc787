// Another server of conversations, with its own defaults: what an append and a read take, beside its own empty request.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../../free-port.mjs";
import { at, inTurns } from "../in-turns.mjs";

const SIZES = [50, 150];
const PATIENCE = 120_000;

/**
 * Rows of ratios at two lengths of a conversation; none, and why, where the server does not start.
 * @param other `name`; `files` by their names; `install(folder)`; `command(folder, port)`, a list; `empty`, the path of its empty request;
 * `begin(send)` gives `{ append(number), read() }` of a new conversation; `calls`, how these two are called there.
 */
export async function measureOther(other, { rounds, turns }) {
  const folder = mkdtempSync(join(tmpdir(), "stemma-bench-other-"));
  let server;
  try {
    for (const [name, text] of Object.entries(other.files)) writeFileSync(join(folder, name), text);
    other.install(folder);
    server = await start(other, folder);
    return await rowsOf(other, server.url, rounds, turns);
  } catch (error) {
    console.log(`${other.name} is skipped: ${error.message}`);
    return [];
  } finally {
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function start({ command, empty }, folder) {
  const port = await freePort();
  const [program, ...args] = command(folder, port);
  // Its own processes end with the group.
  const child = spawn(program, args, { cwd: folder, stdio: "ignore", detached: true });
  const url = `http://localhost:${port}`;
  const stop = async () => {
    const ended = new Promise((resolve) => child.once("close", resolve));
    process.kill(-child.pid, "SIGKILL");
    await ended;
  };
  for (const end = Date.now() + PATIENCE; Date.now() < end; await sleep(500)) {
    const isReady = await fetch(url + empty).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) return { url, stop };
  }
  await stop();
  throw new Error("it did not listen in time.");
}

async function rowsOf({ name, begin, calls, empty }, url, rounds, turns) {
  const send = async (method, path, body) => {
    const response = await fetch(url + path, {
      method,
      ...(body !== undefined && { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
    });
    const answer = await response.json();
    if (!response.ok) throw new Error(`${path}: ${response.status} ${JSON.stringify(answer)}`);
    return answer;
  };
  const found = Object.fromEntries(SIZES.map((size) => [size, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const size of SIZES) {
      const { append, read } = await begin(send, `${round}-${size}`);
      let number = 0;
      const next = () => {
        number += 1;
        return append(`n${number}`, `The ferry to the island of n${number} leaves at nine. `.repeat(6));
      };
      while (number < size) await next();
      found[size].push(await inTurns({ empty: () => send("GET", empty), append: next, read }, turns));
    }
  }
  return SIZES.flatMap((size) =>
    ["append", "read"].map((work) => ({
      work: `${name}, ${calls[work]} from ${size} messages on: its time (median)`,
      against: `its own \`${empty}\``,
      unit: "×",
      values: found[size].map((times) => at("median", times[work]) / at("median", times.empty)),
    })),
  );
}
