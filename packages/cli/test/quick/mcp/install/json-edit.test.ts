import { parse } from "jsonc-parser";
import { describe, expect, it } from "vitest";
import { withMember } from "../../../../src/mcp/install/clients.js";

const FIELDS = { command: "npx", args: ["-y", "stemma", "mcp"] };
/** What a program reads in a file with comments. */
const read = (text: string): Record<string, object> | undefined => parse(text.replace("\ufeff", ""));
const add = (text: string, name = "stemma") => withMember(text, "servers", name, FIELDS);

describe("a member of a JSON file", () => {
  it.each([
    ["nothing", ""],
    ["a line break", "\n"],
    ["an empty object", "{}"],
    ["other fields", '{\n  "theme": "dark"\n}\n'],
    ["tabs", '{\n\t"theme": "dark"\n}\n'],
    ["one line", '{"theme": "dark", "servers": {"other": {"command": "x"}}}'],
    ["an empty group", '{\n  "servers": {}\n}\n'],
    ["other servers", '{\n  "servers": {\n    "other": { "command": "x" }\n  },\n  "last": 1\n}\n'],
    ["a byte order mark", '\ufeff{\n  "theme": "dark"\n}\n'],
    ["Windows' line breaks", '{\r\n  "servers": {\r\n    "other": 1\r\n  }\r\n}\r\n'],
    ["comments", '{\n  // colours\n  "theme": "dark", /* more */\n  "servers": {\n    // none yet\n  }\n}\n'],
    ["a comma too many", '{\n  "servers": {\n    "other": 1,\n  },\n}\n'],
  ])("is added to a file with %s, and everything else stays", (_, before) => {
    const after = add(before) ?? "";
    const [was, is] = [read(before), read(after)];
    expect(is).toEqual({ ...was, servers: { ...was?.servers, stemma: FIELDS } });
    expect(add(after)).toBe(after);
    // Without what was added, the characters are those from before.
    const rest = [...before];
    expect([...after].filter((character) => rest[0] === character && rest.shift() !== undefined).length).toBe(
      [...before].length,
    );
  });

  it("looks like the members beside it", () => {
    const before = '{\n\t"servers": {\n\t\t"other": 1 // mine\n\t}\n}\n';
    expect(withMember(before, "servers", "stemma", { command: "npx" })).toBe(
      '{\n\t"servers": {\n\t\t"other": 1,\n\t\t"stemma": {\n\t\t\t"command": "npx"\n\t\t} // mine\n\t}\n}\n',
    );
  });

  it("is changed in place, and keeps the fields that the user added", () => {
    const before =
      '{ // all\n  "servers": {\n    "stemma": { "command": "old", "env": { "A": "1" } }, // ours\n    "b": 2\n  }\n}';
    const after = add(before) ?? "";
    expect(after).toContain("{ // all\n");
    expect(after).toContain('}, // ours\n    "b": 2\n  }\n}');
    expect(read(after)).toEqual({ servers: { stemma: { ...FIELDS, env: { A: "1" } }, b: 2 } });
  });

  it.each([
    "[]",
    "{",
    '{"servers": []}',
    '{"servers": {} "a": 1}',
    "nonsense",
    '{"a": 1}}',
    '"text"',
    "{a: 1}",
    `{"a": ${"[".repeat(50_000)}`,
  ])("is not added to %s", (text) => expect(add(text)).toBe(null));

  it("of a hostile name stays one", () => {
    const after = add("{}", '__proto__", "x') ?? "";
    expect(Object.keys((JSON.parse(after) as { servers: object }).servers)).toEqual(['__proto__", "x']);
  });
});
