import { describe, expect, it } from "vitest";
import { withTable } from "../../../../src/mcp/install/toml-edit.js";

const FIELDS = { command: "npx", args: ["-y", "stemma"] };
const add = (text: string) => withTable(text, "mcp_servers", "stemma", FIELDS);
const TABLE = '[mcp_servers.stemma]\ncommand = "npx"\nargs = ["-y","stemma"]\n';

describe("a table of a TOML file", () => {
  it.each([
    ["nothing", "", TABLE],
    ["a pair", 'model = "o9"', `model = "o9"\n\n${TABLE}`],
    [
      "texts over lines that look like tables",
      `# [mcp_servers.stemma]\nnotes = """\n[mcp_servers.stemma]\ncommand = 1"""\nlist = [ # [\n  "]", '[',\n]\n[a."b.c"]\nx = {y = "}"}\n`,
      null,
    ],
    ["other servers", '[mcp_servers.other]\ncommand = "x"\n[mcp_servers.other.env]\nA = "1"\n', null],
    [
      "Windows' line breaks",
      "a = 1\r\n[b]\r\nc = 2\r\n",
      `a = 1\r\n[b]\r\nc = 2\r\n\r\n${TABLE.replaceAll("\n", "\r\n")}`,
    ],
  ])("is added behind %s, and everything else stays", (_, before, expected) => {
    const after = add(before) ?? "";
    expect(after).toBe(expected ?? `${before}\n${TABLE}`);
    expect(add(after)).toBe(after);
  });

  it("is changed in place, and keeps the pairs and tables that the user added", () => {
    const before =
      'a = 1\n[mcp_servers."stemma"] # ours\n# why\nargs = [\n  "old", # [\n]\nstartup_timeout_sec = 20\n[mcp_servers.stemma.env]\nA = "1"\n';
    const after =
      'a = 1\n[mcp_servers."stemma"] # ours\ncommand = "npx"\n# why\nargs = ["-y","stemma"]\nstartup_timeout_sec = 20\n[mcp_servers.stemma.env]\nA = "1"\n';
    expect(add(before)).toBe(after);
    expect(add(after)).toBe(after);
  });

  it("is added to a head at the end of the file", () => {
    expect(add("[mcp_servers.stemma]")).toBe(TABLE);
  });

  it.each([
    "[mcp_servers]\nstemma = { command = 'x' }\n",
    "[mcp_servers]\nstemma.command = 'x'\n",
    "mcp_servers = { stemma = {} }\n",
    "mcp_servers.stemma.command = 'x'\n",
    "[[mcp_servers.stemma]]\n",
    "[[mcp_servers]]\n",
    "[mcp_servers.stemma]\n[mcp_servers.stemma]\n",
    'a = "\n',
    "a = [1\n",
    "nonsense\n",
    "[open\n",
    "{}",
  ])("is not added to %j", (text) => expect(add(text)).toBe(null));
});
