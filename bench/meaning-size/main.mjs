// npm run bench -- meaning-size --locomo <path to locomo10.json> [--messages 100000] [--only SQLite,…]
//
// What search by meaning costs at a size: the time of a flush and how much of it is the model, searches by words and by both,
// memory and space. The model is a real one, and slow. So it embeds each different turn of LoCoMo once, and those vectors are kept
// in the temporary folder. A message is two turns; its vector is the mean of theirs. How fast the model is on messages is told apart.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { show } from "../cells.mjs";
import { startServer } from "../postgres-server.mjs";
import { installPeers } from "../prepare.mjs";
import { readTexts } from "./corpus.mjs";
import { ENGINES } from "./engines.mjs";
import { measureModel, vectorsOf } from "./model.mjs";

const MEASURE = fileURLToPath(new URL("./measure.mjs", import.meta.url));

const { values } = parseArgs({
  options: {
    locomo: { type: "string" },
    messages: { type: "string", default: "100000" },
    // PGlite takes too long at the default size.
    only: { type: "string", default: Object.keys(ENGINES).slice(0, 3).join(",") },
  },
});
if (values.locomo === undefined) throw new Error("--locomo must name the file locomo10.json.");
const messages = Number(values.messages);

installPeers();
const { weakEmbedder } = await import("../recall/embedders.mjs");
const embedder = await weakEmbedder();
const { id, dimensions } = embedder;
const texts = readTexts(values.locomo);
const model = await measureModel(texts, embedder);
const vectors = await vectorsOf([...texts.turns, ...texts.queries], embedder);

const folder = mkdtempSync(join(tmpdir(), "stemma-bench-meaning-"));
const server = await startServer(["-c", "fsync=on"]);
try {
  const found = values.only.split(",").map(measure);
  printTables(found);
} finally {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}

function measure(engine) {
  console.log(`${engine} …`);
  const given = { engine, messages, locomo: values.locomo, vectors, dimensions, id, folder, url: server.url };
  const command = [process.execPath, [MEASURE, JSON.stringify(given)]];
  return JSON.parse(execFileSync(...command, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] }));
}

function printTables(found) {
  const line = (cells) => console.log(`| ${cells.join(" | ")} |`);
  const number = (value) => Math.round(value).toLocaleString("en");
  const seconds = messages / model.perCpuSecond;
  const cpu = `${cpus().length} × ${cpus()[0]?.model}`;
  console.log(
    `\n${number(messages)} messages, ${dimensions} numbers a vector; ${cpu}, load ${loadavg()[0].toFixed(1)}.`,
  );
  console.log(
    `The model embeds ${number(model.perCpuSecond)} messages a second of CPU (${number(model.perSecond)} by the clock): ${number(seconds)} s for all; a query ${show(model.query, " ms")}.\n`,
  );
  line(["", ...found.map(({ engine }) => engine)]);
  line(["---", ...found.map(() => "--:")]);
  const rows = {
    "flush without the model, s": ({ flush }) => show(flush / 1000, ""),
    "… messages a second": ({ flush }) => number((1000 * messages) / flush),
    "the model's share of a flush with it": ({ flush }) => `${show((100 * seconds) / (flush / 1000 + seconds), "")} %`,
    "search by words, p50 / p99, ms": ({ words }) => words.map((time) => show(time, "")).join(" / "),
    "search by both, p50 / p99, ms": ({ both }) => both.map((time) => show(time, "")).join(" / "),
    "the first search by both, ms": ({ first }) => number(first),
    "memory before, after the flush, after the searches, MB": ({ before, flushed, searched }) =>
      [before, flushed, searched].map(({ memory }) => number(memory)).join(", "),
    "size before and after the flush, MB": ({ before, flushed }) =>
      [before, flushed].map(({ bytes }) => number(bytes / 1e6)).join(", "),
    "the most that a search read from the server, MB": ({ read }) => (read === null ? "–" : show(read / 1000, "")),
  };
  for (const [name, cellOf] of Object.entries(rows)) line([name, ...found.map(cellOf)]);
}
