import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, it } from "vitest";
import { type CommandLine, commandLine, linesOf, temporaryFolder } from "../../cli/run.js";

// Transcripts that nobody here wrote, read from where they lie: set STEMMA_DATA to their folder. They are no part of the project.
const data = process.env.STEMMA_DATA;
const folder = temporaryFolder();

const PI = ["pi-session-before-compaction.jsonl", "pi-session-large.jsonl"];
const RUNS = "tau-bench-airline-gpt-4o.json";

async function roundTrip(stemma: CommandLine, name: string): Promise<void> {
  const file = join(data ?? "", name);
  const reports = await stemma.jsonLines<{ session: string; messages: number; skipped: unknown[] }>("import", file);
  expect(reports.flatMap(({ skipped }) => skipped)).toEqual([]);
  for (const [index, { session, messages }] of reports.entries()) {
    const source = name === RUNS ? JSON.parse(readFileSync(file, "utf8"))[index] : linesOf(readFileSync(file, "utf8"));
    const exported = await stemma.ok("export", session, "--format", name === RUNS ? "openai" : "pi");
    expect(name === RUNS ? JSON.parse(exported) : linesOf(exported)).toEqual(source);
    const tree = await stemma.ok("tree", session);
    expect(tree.split("\n").filter((line) => !line.startsWith("∑"))).toHaveLength(messages + 1);
    expect(tree).toContain("← active");
  }
  const again = await stemma.jsonLines<{ inserted: number; updated: number }>("import", file);
  expect(again.filter(({ inserted, updated }) => inserted + updated > 0)).toEqual([]);
}

describe.skipIf(data === undefined)("real transcripts (skipped unless STEMMA_DATA names their folder)", () => {
  it.each(PI)("%s comes back equal, is searched, compacted and copied", { timeout: 120_000 }, async (name) => {
    const stemma = commandLine(folder, `${basename(name)}.db`);
    await roundTrip(stemma, name);
    expect(
      (await stemma.json<{ results: unknown[] }>("search", "refactor the session")).results.length,
    ).toBeGreaterThan(0);
    const [{ id } = { id: "" }] = (await stemma.json<{ sessions: { id: string }[] }>("sessions")).sessions;
    const before = (await stemma.jsonLines("show", id)).length;
    const all = await stemma.jsonLines("show", id, "--all");
    expect(await stemma.json("compact", id)).toMatchObject({ compaction: { summary: expect.any(String) } });
    expect((await stemma.jsonLines("show", id)).length).toBeLessThan(before);
    expect(await stemma.jsonLines("show", id, "--all")).toEqual(all);
    const copy = commandLine(folder, `${basename(name)}.copy.db`);
    const lines = await stemma.ok("export", id);
    await copy.ok("import", copy.file("copy.jsonl", lines));
    expect(linesOf(await copy.ok("export", id)).slice(1)).toEqual(linesOf(lines).slice(1));
    expect(await stemma.ok("export", id, "--format", "markdown")).toContain("## Summary of earlier messages");
  });

  it("all runs of a benchmark come back equal and are searched", { timeout: 300_000 }, async () => {
    const stemma = commandLine(folder, "runs.db");
    await roundTrip(stemma, RUNS);
    const { sessions } = await stemma.json<{ sessions: unknown[] }>("sessions", "--limit", "1000");
    expect(sessions).toHaveLength(JSON.parse(readFileSync(join(data ?? "", RUNS), "utf8")).length);
    expect((await stemma.json<{ results: unknown[] }>("search", "cancel my reservation")).results).toHaveLength(20);
  });
});
