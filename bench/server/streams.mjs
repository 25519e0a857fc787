// A history as a stream of lines: its time, and what slow readers cost the server.
import { execFileSync } from "node:child_process";
import { get } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { StemmaClient } from "../../packages/stemma/dist/client.js";

/** The stream of a session by `stemma/client`, beside that of the store in this process. */
export async function measureStream({ store, served, key, session, size, rounds }) {
  const client = new StemmaClient({ baseUrl: served.url, apiKey: key });
  const values = [];
  for (let round = -1; round < rounds; round += 1) {
    const local = await timeOf(store.session(session).stream(), size);
    const remote = await timeOf(client.messages.stream(session), size);
    if (round >= 0) values.push(remote / local);
  }
  const work = `stream of ${size.toLocaleString("en")} messages: its time`;
  return [{ work, against: "the store in the same process", target: { atMost: 2 }, unit: "×", values }];
}

async function timeOf(stream, size) {
  const start = performance.now();
  let count = 0;
  for await (const _ of stream) count += 1;
  if (count !== size) throw new Error(`The stream has ${count} messages.`);
  return performance.now() - start;
}

const READERS = 100;
/** Each takes a piece, and waits so long. */
const PAUSE = 200;
const SECONDS = 20;

/** MB by which the server grows while 100 readers each read a long history slowly. */
export async function measureSlowReaders({ served, key, session, size }) {
  const client = new StemmaClient({ baseUrl: served.url, apiKey: key });
  // What a server that has worked holds anyway.
  for (let time = 0; time < 3; time += 1) await timeOf(client.messages.stream(session), size);
  const before = residentMb(served.pid);
  const readers = await Promise.all(Array.from({ length: READERS }, () => readSlowly(served.url, key, session)));
  let most = 0;
  for (let second = 0; second < SECONDS; second += 1) {
    await sleep(1_000);
    most = Math.max(most, residentMb(served.pid));
  }
  const read = readers.map((reader) => reader.stop());
  if (read.some((bytes) => bytes === 0)) throw new Error("A reader got nothing.");
  const work = `${READERS} slow readers of ${size.toLocaleString("en")} messages: growth of the server's resident memory`;
  return [{ work, target: { atMost: 32 }, unit: " MB", values: [most - before] }];
}

function readSlowly(url, key, session) {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${key}`, accept: "application/x-ndjson" };
    const request = get(`${url}/v1/sessions/${session}/messages`, { headers, agent: false }, (response) => {
      let bytes = 0;
      response.on("data", (piece) => {
        bytes += piece.length;
        response.pause();
        setTimeout(() => response.resume(), PAUSE);
      });
      response.on("error", () => {});
      resolve({
        stop: () => {
          request.destroy();
          return bytes;
        },
      });
    });
    request.on("error", reject);
  });
}

const residentMb = (pid) => Number(execFileSync("ps", ["-o", "rss=", "-p", String(pid)], { encoding: "utf8" })) / 1024;
