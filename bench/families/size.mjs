import { createHash } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { baseline } from "../candidates/baseline.mjs";
import { stemma } from "../candidates/stemma.mjs";
import { MAIN } from "../datasets.mjs";
import { verifyMessages } from "../verify.mjs";

const IDS = [
  { title: "", id: ({ id }) => id, target: 1.05 },
  { title: " with UUID ids", id: ({ id }) => uuid(id), target: 0.8 },
];

/** The size of the files after appends one at a time, at several lengths: what the index merges shows in between. */
export async function measureSize({ datasets, scales, folder, clock, report }) {
  const { rounds } = clock;
  const messages = datasets.conversation(scales.medium);
  for (const { title, id, target } of IDS) {
    const named = messages.map((message) => ({ ...message, id: id(message) }));
    const opened = [baseline, stemma].map((candidate) => {
      const home = join(folder, `size${title.replaceAll(" ", "-")}-${candidate.name}`);
      mkdirSync(home, { recursive: true });
      return candidate.open(home);
    });
    const values = [];
    const step = Math.floor(named.length / 2 / rounds);
    let written = 0;
    for (let round = 1; round <= rounds; round += 1) {
      const until = named.length - (rounds - round) * step;
      for (const each of opened) await each.appendEach(MAIN, named.slice(written, until));
      written = until;
      const [bare, ours] = opened.map(sizeOf);
      values.push(ours / bare);
    }
    for (const each of opened) {
      verifyMessages("size", await each.history(MAIN), named);
      await each.close();
    }
    report.row({ work: `size on disk${title}`, against: "the baseline's", target: { atMost: target }, values });
  }
}

function sizeOf({ db }) {
  const pragma = (name) => db.pragma(name, { simple: true });
  return (pragma("page_count") - pragma("freelist_count")) * pragma("page_size");
}

// Random ids that are the same in every run.
function uuid(text) {
  const hex = createHash("sha256").update(text).digest("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    "-",
  );
}
