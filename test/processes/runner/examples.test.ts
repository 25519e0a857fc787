import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { ROOT } from "../../package/manifest.js";
import { bundle } from "../../runner/bundle.js";
import { openaiServer, type Reply } from "../../runner/model-servers.js";

const EXAMPLES = readdirSync(join(ROOT, "examples")).filter((file) => file.endsWith(".mjs"));

let programs: string;
let folder: string;
beforeAll(async () => {
  programs = await bundle(
    "examples",
    EXAMPLES.map((file) => `examples/${file}`),
  );
});
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "stemma-examples-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Runs an example against a model that answers like this, or none. Resolves to what it prints. */
async function run(
  name: string,
  replies: Reply[] | null,
  { args = [], input = "" }: { args?: string[]; input?: string } = {},
) {
  const server = await openaiServer(...(replies ?? []));
  const env = {
    ...process.env,
    STEMMA_MODEL: replies === null ? "" : "test-model",
    STEMMA_MODEL_BASE_URL: server.url,
    OPENAI_API_KEY: "",
    NODE_NO_WARNINGS: "1",
  };
  const child = spawn(process.execPath, [join(programs, name), ...args], { cwd: folder, env });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  child.stdin.end(input);
  const code = await new Promise((resolve) => child.once("close", resolve));
  await server.close();
  expect({ code, output }).toMatchObject({ code: 0 });
  return { output, requests: server.requests };
}

it("local-agent.mjs asks before it writes, and goes on with the last conversation", async () => {
  writeFileSync(join(folder, "a.txt"), "tea");
  const call: Reply = {
    call: [
      ["r", "read", { path: "a.txt" }],
      ["w", "write", { path: "b.txt", content: "coffee" }],
    ],
  };
  const first = await run("local-agent.mjs", [call, { say: "Done." }], { input: "Copy it\ny\n" });
  expect(first.output).toContain('write {"path":"b.txt","content":"coffee"} — allow?');
  expect(first.output).toContain("Done.");
  expect(readFileSync(join(folder, "b.txt"), "utf8")).toBe("coffee");
  const again: Reply = { call: [["w", "write", { path: "c.txt", content: "x" }]] };
  const second = await run("local-agent.mjs", [again, { say: "I see." }], { input: "And now?\nn\n" });
  expect(second.output).toContain("4 messages)");
  expect(JSON.stringify(second.requests[1])).toContain("The user said no.");
  expect(existsSync(join(folder, "c.txt"))).toBe(false);
});

it("remembering-chat.mjs remembers, corrects itself and shows what it remembers, without a model", async () => {
  const chat = async (...args: string[]) => (await run("remembering-chat.mjs", null, { args })).output;
  const today = new Date().toISOString().slice(0, 10);
  expect(await chat("I live in Berlin since 2023.", "I drink tea.")).toBe(
    `> I live in Berlin since 2023.\nI see.\n> I drink tea.\nI see.\nMemory:\n- Lives in Berlin. since 2023-01-01\n- Drinks tea. since ${today}\n`,
  );
  expect(await chat("Where do I live?", "Who am I?", "thanks")).toMatch(
    /\?\nI remember: Lives in Berlin.\n> Who am I\?\nI remember nothing about that.\n/,
  );
  const moved = await chat("I moved to Lisbon.");
  expect(moved).toContain(`- Lives in Berlin. since 2023-01-01 until ${today}\n`);
  expect(moved).toContain(`- Lives in Lisbon. since ${today}\n`);
  expect(await chat("Where do I live now?")).toContain("\nI remember: Lives in Lisbon.\n");
  expect(await chat("I moved to Berlin.")).toMatch(
    /- Lives in Lisbon. since \S+ until .*\n(.*\n)?.*Berlin. since \S+\n/,
  );
});

it("remembering-chat.mjs asks a model for answers and facts where one is named", async () => {
  const edits = [
    { action: "add", label: "facts", key: "name", content: "Is called Ada.", subject: "name", messages: [1] },
  ];
  const replies = [{ say: "Hello Ada." }, { say: JSON.stringify(edits) }];
  const first = await run("remembering-chat.mjs", replies, { args: ["I am called Ada"] });
  const today = new Date().toISOString().slice(0, 10);
  expect(first.output).toBe(`> I am called Ada\nHello Ada.\nMemory:\n- Is called Ada. since ${today}\n`);
  const second = await run("remembering-chat.mjs", [{ say: "Ada." }, { say: "[]" }], { args: ["What am I called?"] });
  expect(JSON.stringify(second.requests[0])).toContain("Is called Ada.");
});

it("custom-storage.mjs carries branches", async () => {
  const { output } = await run("custom-storage.mjs", [{ say: "Red" }, { say: "Blue" }]);
  expect(output).toBe("First answer: Red\nSecond answer: Blue\nBranches: [ 'Red', 'Blue' ]\n");
});

it("tests every example", () => {
  expect(EXAMPLES.sort()).toEqual(["custom-storage.mjs", "local-agent.mjs", "remembering-chat.mjs"]);
});
