// LangGraph's JS server as its command line starts it, in memory: what an append and a read of a thread take, beside its own `/ok`.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { at, inTurns } from "./in-turns.mjs";

const PACKAGES = ["@langchain/langgraph-cli@1.5.1", "@langchain/langgraph@1.7.3", "@langchain/core@1"];
const GRAPH = `import { MessagesAnnotation, StateGraph } from "@langchain/langgraph";
export const graph = new StateGraph(MessagesAnnotation).addNode("say", () => ({ messages: [] })).addEdge("__start__", "say").compile();
`;
const FILES = {
  "package.json": JSON.stringify({ private: true, type: "module" }),
  "langgraph.json": JSON.stringify({ node_version: "20", graphs: { chat: "./graph.mjs:graph" } }),
  "graph.mjs": GRAPH,
};
const SIZES = [50, 150];
const PATIENCE = 120_000;

/** Rows of ratios at two lengths of a thread; none, and why, where it does not start. */
export async function measureLangGraph({ rounds, turns }) {
  const folder = mkdtempSync(join(tmpdir(), "stemma-bench-langgraph-"));
  let server;
  try {
    for (const [name, text] of Object.entries(FILES)) writeFileSync(join(folder, name), text);
    execFileSync("npm", ["install", "--no-audit", "--no-fund", "--loglevel=error", ...PACKAGES], { cwd: folder });
    server = await start(folder);
    return await rowsOf(server.url, rounds, turns);
  } catch (error) {
    console.log(`LangGraph's server is skipped: ${error.message}`);
    return [];
  } finally {
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function start(folder) {
  const port = await freePort();
  const args = ["node_modules/.bin/langgraphjs", "dev", "--port", String(port), "--no-browser"];
  // Its own processes end with the group.
  const child = spawn(process.execPath, args, { cwd: folder, stdio: "ignore", detached: true });
  const url = `http://localhost:${port}`;
  const stop = async () => {
    const ended = new Promise((resolve) => child.once("close", resolve));
    process.kill(-child.pid, "SIGKILL");
    await ended;
  };
  for (const end = Date.now() + PATIENCE; Date.now() < end; await sleep(500)) {
    const isReady = await fetch(`${url}/ok`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) return { url, stop };
  }
  await stop();
  throw new Error("it did not listen in time.");
}

async function rowsOf(url, rounds, turns) {
  const send = async (method, path, body) => {
    const response = await fetch(url + path, {
      method,
      ...(body !== undefined && { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
    });
    const answer = await response.json();
    if (!response.ok) throw new Error(`${path}: ${response.status} ${JSON.stringify(answer)}`);
    return answer;
  };
  let number = 0;
  const append = (thread) => () => {
    number += 1;
    const content = `The ferry to the island of n${number} leaves at nine. `.repeat(6);
    const messages = [{ type: "human", id: `n${number}`, content }];
    return send("POST", `/threads/${thread}/state`, { values: { messages }, as_node: "say" });
  };
  const found = Object.fromEntries(SIZES.map((size) => [size, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const size of SIZES) {
      const { thread_id: thread } = await send("POST", "/threads", { metadata: { graph_id: "chat" } });
      const { assistant_id: assistant } = (await send("POST", "/assistants/search", { graph_id: "chat" }))[0];
      // A thread has a graph once it has run.
      await send("POST", `/threads/${thread}/runs/wait`, { assistant_id: assistant, input: { messages: [] } });
      for (let filled = 0; filled < size; filled += 1) await append(thread)();
      found[size].push(
        await inTurns(
          {
            ok: () => send("GET", "/ok"),
            append: append(thread),
            read: () => send("GET", `/threads/${thread}/state`),
          },
          turns,
        ),
      );
    }
  }
  return SIZES.flatMap((size) =>
    ["append", "read"].map((name) => ({
      work: `LangGraph's server, ${name === "append" ? "`update_state`" : "`get_state`"} from ${size} messages on: its time (median)`,
      against: "its own `/ok`",
      unit: "×",
      values: found[size].map((times) => at("median", times[name]) / at("median", times.ok)),
    })),
  );
}

function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer().once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}
