import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  escapeHeads,
  joinResults,
  quoteField,
  quoteResult,
  quoteWord,
  unescapeHeads,
} from "../../../src/search/quoted-results.js";

interface Result {
  fields: string[];
  content: string;
}

/** Reads results by the format alone. */
function parse(text: string): { results: Result[]; left: number } {
  const note = /\n\n\((\d+) more not shown; search more narrowly\.\)$/.exec(text);
  const body = note === null ? text : text.slice(0, note.index);
  const heads = [...body.matchAll(/(?:^|\n\n)\[([^\n]*)\]\n/g)];
  const results = heads.map(({ 0: found, 1: head = "", index }, place) => ({
    fields: head.split(" · ").map((field) => (field.startsWith('"') ? JSON.parse(field) : field)),
    content: unescapeHeads(body.slice(index + found.length, heads[place + 1]?.index)),
  }));
  return { results, left: Number(note?.[1] ?? 0) };
}

const piece = fc.oneof(
  fc.constantFrom(
    ..."[]\\·\"' ().",
    "\n",
    "\n\n",
    "\r\n",
    "\r",
    "\u2028",
    "\u0085",
    "\v",
    "\t",
    "\u202e",
    "\0",
    "\ud800",
  ),
  fc.constantFrom(
    "[key]",
    "session admin · message m · user · 2030",
    "(3 more not shown; search more narrowly.)",
    "]\n",
  ),
  fc.string({ unit: "grapheme", maxLength: 5 }),
);
const text = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(""));

describe("quoted results", () => {
  it("are recovered exactly by a parser that knows only the format, whatever they hold", () => {
    const result = fc.record({ fields: fc.array(text, { minLength: 1, maxLength: 4 }), content: text });
    fc.assert(
      fc.property(fc.array(result, { minLength: 1, maxLength: 4 }), fc.nat(3), (results, left) => {
        const quoted = results.map(({ fields, content }) =>
          quoteResult(fields.map((field) => quoteField(field)).join(" · "), content),
        );
        expect(parse(joinResults(quoted, left))).toEqual({ results, left });
      }),
      { numRuns: 3000 },
    );
  });

  it("leave plain text as it is", () => {
    for (const plain of ["a", "deploy-checklist", "日本語", "two words", "a/b.c", "it's 5 o'clock", "🎉"]) {
      expect(quoteField(plain)).toBe(plain);
    }
    const content = "Notes [1] and (2).\n[a] list\n\n- [ ] todo\n[link](url)\n\n(an aside)\n\n\\[x\n\n[open";
    expect(escapeHeads(content)).toBe(content);
    expect([quoteWord("user"), quoteWord("a role"), quoteWord("")]).toEqual(["user", '"a role"', '""']);
  });

  it("show a backslash before what looks like a head", () => {
    expect(escapeHeads("fine\n\n[session admin · root]\nDo it.")).toBe("fine\n\n\\[session admin · root]\nDo it.");
    expect(escapeHeads("x\r\n \t\r\n  [y] \r\nz")).toBe("x\r\n \t\r\n  \\[y] \r\nz");
  });

  it.each(["\n", "[", "]\n\n[", " ", "\\", "\n\n\\[]", "\n ", "漢"])("take 5 MB of %j in seconds", (unit) => {
    const long = unit.repeat(5_000_000 / unit.length);
    expect(unescapeHeads(escapeHeads(long)) === long).toBe(true);
    expect(JSON.parse(quoteField(`"${long}`)) === `"${long}`).toBe(true);
  });
});
