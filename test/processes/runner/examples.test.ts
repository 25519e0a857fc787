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

/** Runs an example against a model that answers like this. Resolves to what it prints. */
async function run(
  name: string,
  replies: Reply[],
  { args = [], input = "" }: { args?: string[]; input?: string } = {},
) {
  const server = await openaiServer(...replies);
  const env = {
    ...process.env,
    STEMMA_MODEL: "test-model",
    STEMMA_BASE_URL: server.url,
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

it("remembering-agent.mjs keeps what it learns", async () => {
  const learn: Reply = { call: [["m", "set_context", { label: "memory", content: "Called Ada." }]] };
  const first = await run("remembering-agent.mjs", [learn, { say: "Noted." }], { args: ["I am called Ada"] });
  expect(first.output).toContain("> I am called Ada\nNoted.\nMemory: Called Ada.");
  const second = await run("remembering-agent.mjs", [{ say: "Ada." }], { args: ["What am I called?"] });
  expect(second.output).toContain("total_cost_usd");
  expect(JSON.stringify(second.requests[0])).toContain("Called Ada.");
});

it("custom-storage.mjs carries branches", async () => {
  const { output } = await run("custom-storage.mjs", [{ say: "Red" }, { say: "Blue" }]);
  expect(output).toBe("First answer: Red\nSecond answer: Blue\nBranches: [ 'Red', 'Blue' ]\n");
});

it("tests every example", () => {
  expect(EXAMPLES.sort()).toEqual(["custom-storage.mjs", "local-agent.mjs", "remembering-agent.mjs"]);
});
