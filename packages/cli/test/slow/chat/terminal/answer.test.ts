import { Markdown } from "@mariozechner/pi-tui/dist/components/markdown.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cpuTime } from "../../../../../../test/helpers/cpu-time.js";
import { patience } from "../../../../../../test/helpers/patience.js";
import { createRunWithin, type RunWithin } from "../../../../../runner/src/tools/bounded.js";
import { Answer } from "../../../../src/chat/terminal/answer.js";
import { markdownTheme } from "../../../../src/chat/terminal/screen.js";
import { styleFor } from "../../../../src/text.js";

const style = styleFor(false);
const runWithin = await createRunWithin();

/** Gives up ten times as early, for what has no end anyway. */
const runBriefly: RunWithin = (milliseconds, work) => runWithin(milliseconds / 10, work);

/** Blocks as models write them, each followed by a blank line. */
const BLOCKS = [
  "# A heading",
  "A paragraph with **bold words**, `code` and a [link](https://example.org/).",
  `A long one. ${"It goes on and on. ".repeat(60)}`,
  "- one\n- two\n  - deep\n- three",
  "1. first\n\n2. second\n\n   with a paragraph\n\n3. third",
  "```js\nconst a = 1;\n\n\nconst b = 2;\n# no heading\n```",
  "~~~~\n```\n\nnot closed by that\n```\n~~~~",
  "| a | b |\n|---|---|\n| 1 | a cell |\n| 2 | another |",
  "> quoted\n>\n> more",
  "    indented code\n\n    more of it",
  "Title\n=====",
  "---",
  "<b>no html</b>",
];

const shown = (lines: string[]) => lines.map((line) => line.trimEnd());

function whole(text: string, width: number): string[] {
  return shown(new Markdown(text, 0, 0, markdownTheme(style)).render(width));
}

describe("an answer", () => {
  it("looks as if it had come at once, however it comes", () => {
    const documents = fc.array(fc.constantFrom(...BLOCKS), { minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(documents, fc.integer({ min: 1, max: 97 }), fc.constantFrom(40, 80), (blocks, size, width) => {
        const text = blocks.join("\n\n");
        const answer = new Answer(style, runWithin);
        for (let start = 0; start < text.length; start += size) {
          answer.add(text.slice(start, start + size));
          answer.render(width);
        }
        expect(shown(answer.render(width))).toEqual(whole(text, width));
      }),
      { numRuns: 60 },
    );
  });

  it("draws a long one as fast as a short one, but for the lines that are there", () => {
    const answer = new Answer(style, runWithin);
    const start = cpuTime();
    for (let index = 0; index < 2_000; index += 1) {
      answer.add(`${BLOCKS[index % 2]}\n\n`);
      answer.render(80);
    }
    // Drawn whole each time it took more than a minute.
    expect(cpuTime() - start).toBeLessThan(patience(15_000));
  });

  it.each([
    // Each takes the reader of Markdown minutes.
    ["links that are begun", "[a](".repeat(5_000), runBriefly],
    [
      "links that are begun, in an answer with other parts",
      `${"A paragraph.\n\n".repeat(300)}${"[a](".repeat(5_000)}`,
      runBriefly,
    ],
    // It would overflow the stack.
    ["quotes in quotes", `${"> ".repeat(20_000)}deep`, runWithin],
    [
      "lists in lists",
      Array.from({ length: 3_000 }, (_, depth) => `${" ".repeat(2 * depth)}- deep`).join("\n"),
      runWithin,
    ],
  ])("shows what cannot be read as Markdown as it was written: %s", (_, text, run) => {
    const answer = new Answer(style, run);
    const start = cpuTime();
    answer.add(text);
    const lines = answer.render(80);
    expect(lines.join("").replaceAll(/\s/g, "")).toContain(text.slice(-4_000).replaceAll(/\s/g, ""));
    answer.add("\n\nIt goes on.");
    expect(shown(answer.render(80)).at(-1)).toBe("It goes on.");
    expect(cpuTime() - start).toBeLessThan(patience(20_000));
  });

  it("takes a line break that comes in two pieces for one", () => {
    const answer = new Answer(style, runWithin);
    for (const piece of ["one\r", "\ntwo\r\n", "three\u001b[2J"]) answer.add(piece);
    expect(shown(answer.render(80))).toEqual(["one", "two", "three[2J"]);
  });
});
