import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createBuiltinTools } from "../../packages/runner/src/tools/builtin-tools.js";
import { Random } from "../tools/random.js";
import type { Row } from "../tools/row.js";

const STEPS = [
  "..",
  ".",
  "link",
  "up",
  "dir",
  "deep",
  "a.txt",
  "secret.txt",
  "chain",
  "//",
  "new",
  "elsewhere",
  "race",
  "\u2025",
  "..\\..",
];

const SWAPS = [
  ["race", "aside"],
  ["out", "race"],
  ["race", "out"],
  ["aside", "race"],
] as const;

/** Files inside and outside, and links out of every kind. */
function build(folder: string) {
  const [cwd, outside] = [join(folder, "work"), join(folder, "elsewhere")];
  mkdirSync(join(cwd, "dir", "deep"), { recursive: true });
  mkdirSync(outside);
  writeFileSync(join(outside, "secret.txt"), "the secret\n");
  writeFileSync(join(cwd, "dir", "a.txt"), "inside\n");
  symlinkSync(outside, join(cwd, "link"));
  symlinkSync("../../elsewhere", join(cwd, "dir", "up"));
  symlinkSync("link", join(cwd, "chain"));
  symlinkSync(join(outside, "secret.txt"), join(cwd, "dir", "deep", "link"));
  return { cwd, outside };
}

export const escapes: Row = {
  number: 28,
  title: "{size} paths out of the workspace, over links and while a link takes the place of a directory",
  target: "0 reach out",
  sizes: { everywhere: [2_000, 200] },
  async run({ folder, size }) {
    const { cwd, outside } = build(folder);
    const tools = createBuiltinTools({ cwd, approve: () => true });
    const random = new Random(size);
    const reached: string[] = [];
    let [refused, swapping] = [0, true];
    const swap = async () => {
      for (; swapping; await new Promise(setImmediate)) {
        try {
          for (const [from, to] of SWAPS) renameSync(join(cwd, from), join(cwd, to));
        } catch {
          // A tool made a directory where one had just left.
          for (const name of ["race", "aside", "out"]) rmSync(join(cwd, name), { recursive: true, force: true });
          mkdirSync(join(cwd, "race"));
          symlinkSync(outside, join(cwd, "out"));
        }
      }
    };
    const swapped = swap();
    for (let index = 0; index < size; index += 1) {
      const steps = Array.from({ length: 1 + random.below(5) }, () => random.pick(STEPS)).join("/");
      const path = random.pick([steps, `${cwd}/${steps}`, `${outside}/secret.txt`, `${cwd}-x/../elsewhere/${steps}`]);
      const answers = [
        await tools.read.execute({ path }),
        await tools.write.execute({ path: `${path}${index % 3 === 0 ? `/n${index}` : ""}`, content: "mine" }),
        await tools.edit.execute({ path, old: "secret", new: "mine" }),
        await tools.list.execute({ path }),
      ];
      // Each of these starts a thread.
      if (index % 20 === 0) answers.push(await tools.grep.execute({ pattern: "the sec.et", path }));
      if (index % 20 === 10) answers.push(await tools.glob.execute({ pattern: `${steps}/*` }));
      refused += answers.filter((answer) => answer.startsWith("Error: ")).length;
      if (answers.some((answer) => /the secret/.test(answer))) reached.push(path);
      const left = readdirSync(outside).join();
      if (left !== "secret.txt") reached.push(`${path}: ${left}`);
    }
    swapping = false;
    await swapped;
    if (readFileSync(join(outside, "secret.txt"), "utf8") !== "the secret\n") reached.push("the secret was changed");
    return {
      figure: `${reached.length} reached out; ${refused} calls refused`,
      met: reached.length === 0 && refused > size,
      details: reached.slice(0, 5),
    };
  },
};
