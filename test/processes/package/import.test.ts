import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ENTRY_POINTS, ROOT } from "../../package/manifest.js";

/** What a program has loaded before that uses an entry point: the framework it is for. */
const FRAMEWORKS: Readonly<Record<string, readonly string[]>> = {
  "stemma/agent": ["ai"],
  "stemma/ai-sdk": ["ai"],
  "stemma/claude": ["@anthropic-ai/sdk"],
  "stemma/langchain": ["@langchain/core/chat_history", "@langchain/core/messages"],
  "stemma/langgraph": ["@langchain/langgraph"],
  "stemma/mcp": ["@modelcontextprotocol/server"],
  "stemma/openai-agents": ["@openai/agents"],
  "stemma/react": ["react", "@ai-sdk/react"],
  "stemma/testing": ["zod"],
  // Its routes are described with zod, and stand when the Worker begins.
  "stemma/worker": ["zod"],
};

/** Milliseconds of CPU. The aim is 100 on an idle machine; beside other work the same takes more. */
const LIMIT = 250;

describe.skipIf(!existsSync(join(ROOT, "packages/stemma/dist/index.js")))("a cold import of the built package", () => {
  it.each(ENTRY_POINTS.map(({ specifier }) => specifier))("of %s takes little", (specifier) => {
    const times: number[] = [];
    // Once is enough where nothing disturbs it.
    while (times.length < 5 && !times.some((time) => time < LIMIT)) times.push(measure(specifier));
    console.log(`${specifier}: ${times.map((time) => time.toFixed(0)).join(", ")} ms of CPU`);
    expect(Math.min(...times)).toBeLessThan(LIMIT);
  });
});

/** Milliseconds of CPU that importing an entry point takes in a new process. */
function measure(specifier: string): number {
  const program = `
    for (const each of ${JSON.stringify(FRAMEWORKS[specifier] ?? [])}) await import(each);
    const start = process.cpuUsage();
    await import(${JSON.stringify(specifier)});
    const { user, system } = process.cpuUsage(start);
    console.log((user + system) / 1000);
  `;
  // In the project, which may name itself, and where frameworks are found.
  const options = { encoding: "utf8", cwd: join(ROOT, "test") } as const;
  return Number(execFileSync(process.execPath, ["--input-type=module", "--eval", program], options));
}
