import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { stemma } from "../candidates/stemma.mjs";
import { MAIN } from "../datasets.mjs";
import { digest, verify } from "../verify.mjs";

const READER = fileURLToPath(new URL("./stream-reader.mjs", import.meta.url));

/** A stream of the whole conversation, in a process of its own each time: by how much its resident memory grows. */
export async function measureStream({ datasets, scales, folder, clock, report }) {
  const messages = datasets.conversation(scales.large).map(withDocument);
  const home = join(folder, "stream");
  mkdirSync(home);
  const opened = stemma.open(home);
  await opened.fill(MAIN, messages);
  await opened.close();
  const expected = digest(messages);
  const megabytes = messages.reduce((sum, message) => sum + JSON.stringify(message).length, 0) / 1e6;
  const values = [];
  for (let round = 0; round < clock.rounds; round += 1) {
    const output = execFileSync(process.execPath, [READER, opened.path, MAIN], { encoding: "utf8" });
    const { growth, count, hash } = JSON.parse(output);
    verify(count === messages.length && hash === expected, "stream", "it did not read every message.");
    values.push(growth / 1e6);
  }
  report.row({
    work: `stream of ${scales.large.toLocaleString("en")} messages (${megabytes.toFixed(0)} MB): growth of resident memory`,
    target: { atMost: 48 },
    unit: " MB",
    values,
  });
}

// A kilobyte a message on average: with something that a tool has read.
function withDocument(message) {
  const type = "data-document";
  return { ...message, parts: [...message.parts, { type, data: { title: message.id, lines: LINES } }] };
}

const LINES = Array.from({ length: 9 }, (_, line) => `Line ${line} of the document that was read.`);
