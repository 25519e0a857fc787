// One command line: what each command prints, over one kind of database.
import { existsSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join, resolve } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { SessionManager } from "../../../packages/stemma/src/session.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { jsonl } from "../../cli/read.js";
import { type CommandLine, commandLine, run, temporaryFolder } from "../../cli/run.js";

const folder = temporaryFolder();

/** Bold and yellow. */
const SET_OFF = { on: "\u001b[1m\u001b[33m", off: "\u001b[39m\u001b[22m" };

/** A file of ours: a conversation with a branch, a tool call and a summary. */
const garden = jsonl([
  { stemma: 1, session: { id: "garden-1", name: "The garden" }, activeLeafId: "g5" },
  line("g1", null, "user", [{ type: "text", text: "When do I sow carrots?" }], "2026-03-01T10:00:00.000Z"),
  line("g2", "g1", "assistant", [
    {
      type: "tool-almanac",
      toolCallId: "c1",
      state: "output-available",
      input: { plant: "carrot" },
      output: { month: 4 },
    },
    { type: "text", text: "In April, when the soil is warm." },
  ]),
  line("g3", "g2", "user", [{ type: "text", text: "And tomatoes?" }]),
  line("g4", "g3", "assistant", [{ type: "text", text: "Indoors,\nin March." }]),
  line("g5", "g2", "user", [{ type: "text", text: "And beans?\u001b[31m" }]),
  { compaction: { id: "sum1", summary: "Carrots go in the ground in April.", fromMessageId: "g1", toMessageId: "g2" } },
]);

const kitchen = jsonl([
  { stemma: 1, session: { id: "kitchen-1", name: "The kitchen" } },
  line("k1", null, "user", [{ type: "text", text: "A soup of carrots, please." }]),
]);

function line(id: string, parentId: string | null, role: string, parts: unknown[], createdAt?: string) {
  return { message: { id, role, parts, ...(createdAt === undefined ? {} : { createdAt }) }, parentId };
}

async function filled(name: string): Promise<CommandLine> {
  const stemma = commandLine(folder, name);
  await stemma.ok("import", stemma.file("garden.jsonl", garden), stemma.file("kitchen.jsonl", kitchen));
  return stemma;
}

let stemma: CommandLine;
beforeAll(async () => {
  stemma = await filled("commands.db");
});

describe("a wrong argument", () => {
  it.each([
    ["a format", ["export", "garden", "-f", "nope"]],
    ["a format of files", ["import", "garden.jsonl", "-f", "nope"]],
    ["a cursor", ["sessions", "--cursor", "zzz"]],
    ["a number", ["sessions", "-n", "none"]],
    ["a path", ["--db", "", "sessions"]],
  ])("ends with exit code 2: %s", async (_what, args) => {
    expect(await run(["--db", stemma.db, ...args])).toMatchObject({
      code: 2,
      err: expect.stringMatching(/^stemma: /),
    });
  });

  it.each([
    ["is a folder", ".", "it is a folder"],
    ["lies under a file", join("notes.txt", "chat.db"), "its folder cannot be made|is no folder"],
    ["lies where no folder can be made", "/proc/stemma/chat.db", "its folder cannot be made"],
  ])("is told where the database %s", async (_what, path, why) => {
    stemma.file("notes.txt", "not a database");
    const db = resolve(folder, path);
    const { code, err } = await run(["--db", db, "import", stemma.file("garden.jsonl", garden)]);
    expect([code, err]).toEqual([1, expect.stringMatching(new RegExp(`"${db}" cannot be opened: .*(?:${why}).*--db`))]);
  });

  it("is told where no Postgres answers", async () => {
    const { code, err } = await run(["--db", "postgres://127.0.0.1:1/none", "sessions"]);
    expect([code, err]).toEqual([1, expect.stringMatching(/No database answers \(.*127\.0\.0\.1:1.*--db/)]);
  });

  it.each([
    ["sessions"],
    ["show"],
    ["tree"],
    ["search", "carrot"],
    ["studio"],
    ["mcp", "--read-only"],
    ["fork", "garden-1"],
    ["compact", "garden-1"],
    ["delete", "garden-1", "--yes"],
    ["prune", "--yes"],
    ["prune", "--dry-run"],
    ["export", "--all"],
    ["backup", join(folder, "typo-copy.db")],
    ["check"],
    ["check", "--repair"],
  ])("is told where there is no database, and none is made: %s", async (...args) => {
    const db = join(folder, "nobody", "typo.db");
    const { code, out, err } = await run(["--db", db, ...args]);
    expect([code, out]).toEqual([1, ""]);
    expect(err).toMatch(/^stemma: There is no database .*typo\.db\. Name another one with --db or STEMMA_DB; .*\n$/);
    const json = await run(["--db", db, "--json", ...args]);
    expect([json.code, JSON.parse(json.err)]).toMatchObject([1, { error: { code: "INVALID_ARGUMENT" } }]);
    expect(existsSync(join(folder, "nobody"))).toBe(false);
  });

  it("is told with the name of the file, when that is no database", async () => {
    const file = stemma.file("notes.txt", "not a database ".repeat(100));
    expect(await run(["--db", file, "sessions"])).toMatchObject({ code: 1, err: expect.stringContaining(file) });
  });
});

describe("stemma sessions", () => {
  it("lists the latest changed session first", async () => {
    const { sessions, nextCursor } = await stemma.json<{ sessions: object[]; nextCursor: null }>("sessions");
    expect(nextCursor).toBeNull();
    expect(sessions).toEqual([
      expect.objectContaining({ id: "kitchen-1", name: "The kitchen", messages: 1, created_at: expect.any(String) }),
      expect.objectContaining({ id: "garden-1", name: "The garden", messages: 3 }),
    ]);
    expect(await stemma.ok("sessions")).toMatch(
      /SESSION +MESSAGES +CHANGED +NAME\nkitchen- +1 .*The kitchen\ngarden-1 +3 .*The garden\n/,
    );
  });

  it("goes on with the next page", async () => {
    const first = await stemma.json<{ sessions: { id: string }[]; nextCursor: string }>("sessions", "--limit", "1");
    const second = await stemma.json<{ sessions: { id: string }[] }>(
      "sessions",
      "--limit",
      "1",
      "--cursor",
      first.nextCursor,
    );
    expect([...first.sessions, ...second.sessions].map(({ id }) => id)).toEqual(["kitchen-1", "garden-1"]);
  });

  it("says so where the database holds none", async () => {
    const own = commandLine(folder, "no-sessions.db");
    await own.ok("migrate");
    expect(await own.ok("sessions")).toContain("No sessions yet");
    expect(await own.run("show")).toMatchObject({ code: 1, err: expect.stringContaining("no sessions yet") });
  });
});

describe("stemma show", () => {
  it("shows what the model sees, the summary in the place of what it covers", async () => {
    const ids = (await stemma.jsonLines<{ id: string }>("show", "garden-1")).map(({ id }) => id);
    expect(ids).toEqual(["compaction_sum1", "g5"]);
    expect(await stemma.ok("show", "garden")).toBe(
      "── summary · compaction_sum1\nCarrots go in the ground in April.\n\n── user · g5\nAnd beans?[31m\n\n",
    );
  });

  it("shows the messages under the summary, another branch, or the end only", async () => {
    const ids = async (...options: string[]) =>
      (await stemma.jsonLines<{ id: string }>("show", "The garden", ...options)).map(({ id }) => id);
    expect(await ids("--all")).toEqual(["g1", "g2", "g5"]);
    expect(await ids("--leaf", "g4")).toEqual(["compaction_sum1", "g3", "g4"]);
    expect(await ids("--all", "--leaf", "g4", "--limit", "2")).toEqual(["g3", "g4"]);
    expect(await ids("--limit", "1")).toEqual(["g5"]);
    expect(await ids("--limit", "9")).toEqual(["compaction_sum1", "g5"]);
  });

  it("shows tools with what went in and came out", async () => {
    const shown = await stemma.ok("show", "garden-1", "--all");
    expect(shown).toContain('→ almanac {"plant":"carrot"}\n← {"month":4}\nIn April, when the soil is warm.\n');
  });

  it("shows the latest changed session when none is named", async () => {
    expect(await stemma.jsonLines("show")).toMatchObject([{ id: "k1" }]);
  });

  it("refuses what is not there, and what can be several", async () => {
    expect(await stemma.run("show", "attic")).toEqual({
      code: 1,
      out: "",
      err: 'stemma: There is no session "attic"; `stemma sessions` lists them.\n',
    });
    expect((await stemma.run("show", "garden-1", "--leaf", "g")).err).toContain("give more of the id");
    const { code, err } = await stemma.run("--json", "show", "garden-1", "--leaf", "zz");
    expect(code).toBe(1);
    expect(JSON.parse(err)).toMatchObject({ error: { code: "MESSAGE_NOT_FOUND", message: expect.any(String) } });
  });
});

describe("stemma tree", () => {
  it("draws branches, summaries and the active leaf", async () => {
    expect(await stemma.ok("tree", "garden-1")).toBe(
      [
        "∑ sum1  2 messages summarised: Carrots go in the ground in April.",
        "user      g1  When do I sow carrots?",
        "assistant g2  In April, when the soil is warm.",
        '              · almanac {"plant":"carrot"} → {"month":4}',
        "├─ user      g3  And tomatoes?",
        "│  assistant g4  Indoors, in March.",
        "└─ user      g5  And beans?[31m  ← active",
        "",
      ].join("\n"),
    );
  });

  it("gives the same as JSON", async () => {
    const tree = await stemma.json("tree", "garden-1");
    expect(tree).toMatchObject({
      session: { id: "garden-1" },
      activeLeafId: "g5",
      messages: [
        { id: "g1", parentId: null, role: "user", createdAt: "2026-03-01T10:00:00.000Z" },
        {},
        {},
        {},
        { id: "g5", parentId: "g2" },
      ],
      compactions: [{ id: "sum1", fromMessageId: "g1", toMessageId: "g2" }],
    });
  });
});

describe("stemma search", () => {
  it("finds words in all sessions, or in one", async () => {
    const find = async (...args: string[]) =>
      (await stemma.json<{ results: { id: string; sessionId: string }[] }>("search", ...args)).results;
    expect((await find("carrot")).map(({ sessionId, id }) => `${sessionId} ${id}`).sort()).toEqual([
      "garden-1 g1",
      "kitchen-1 k1",
    ]);
    expect(await find("carrot", "soup", "--session", "kitchen")).toEqual([
      {
        sessionId: "kitchen-1",
        id: "k1",
        role: "user",
        createdAt: expect.any(String),
        score: expect.any(Number),
        snippet: "A soup of carrots, please.",
      },
    ]);
    expect(await find("carrot", "--limit", "1")).toHaveLength(1);
    expect(await stemma.ok("search", "tomatoes")).toMatch(
      /^── user · .* · session garden-1 · message g3\nAnd tomatoes\?\n/,
    );
    expect(await stemma.ok("search", '"OR ( NEAR')).toBe("No message matches.\n");
  });

  it("sets the words that match off on a terminal, and only there", async () => {
    vi.stubEnv("NO_COLOR", "");
    vi.stubEnv("TERM", "xterm");
    const { out } = await run(["--db", stemma.db, "search", "carrot", "sowing"], { terminal: true });
    expect(out).toContain(`When do I ${SET_OFF.on}sow${SET_OFF.off} ${SET_OFF.on}carrots${SET_OFF.off}?`);
    expect(stripVTControlCharacters(out)).toBe(await stemma.ok("search", "carrot", "sowing"));
    expect(await stemma.ok("search", "carrot")).not.toContain("\u001b");
    vi.stubEnv("NO_COLOR", "1");
    expect((await run(["--db", stemma.db, "search", "carrot"], { terminal: true })).out).not.toContain("\u001b");
    vi.unstubAllEnvs();
  });

  it("finds messages of a role, of a time, of a user", async () => {
    const own = await filled("who.db");
    const store = sqlite(own.db);
    const ada = SessionManager.create(store).forUser("ada");
    await ada.append("adas", { id: "a1", role: "user", parts: [{ type: "text", text: "Ada sows carrots." }] });
    await store.close();
    const find = async (...args: string[]) =>
      (await own.json<{ results: { id: string }[] }>("search", ...args)).results.map(({ id }) => id).sort();
    expect(await find("sow carrot soil soup")).toEqual(["a1", "g1", "g2", "k1"]);
    expect(await find("sow carrot soil soup", "--role", "assistant")).toEqual(["g2"]);
    expect(await find("sow carrot soil soup", "--user", "ada")).toEqual(["a1"]);
    expect(await find("sow carrot soil soup", "--user", "bob")).toEqual([]);
    expect(await find("sow", "--after", "2026-02-28")).toContain("g1");
    expect(await find("sow", "--after", "2026-03-02")).toEqual(["a1"]);
    expect(await find("sow", "--after", "2026-03-01T09:00Z")).toContain("g1");
    expect(await find("sow", "--after", "2h")).toEqual(["a1"]);
    expect(await run(["--db", own.db, "search", "sow", "--after", "soon"])).toMatchObject({ code: 2 });
  });
});

describe("stemma fork, compact and delete", () => {
  it("forks at a message, into a session of its own", async () => {
    const own = await filled("fork.db");
    const fork = await own.json<{ id: string }>("fork", "garden-1", "g4", "--name", "Tomatoes");
    expect(fork).toMatchObject({ name: "Tomatoes", parent_session_id: "garden-1" });
    const ids = (await own.jsonLines<{ id: string }>("show", fork.id, "--all")).map(({ id }) => id);
    expect(ids).toEqual(["g1", "g2", "g3", "g4"]);
    expect((await own.ok("fork", "garden-1")).trim()).toMatch(/^[0-9a-f-]{36}$/);
    expect(await own.ok("sessions")).toContain("The garden (fork)");
  });

  it("compacts without a model, and says so", async () => {
    const own = commandLine(folder, "compact.db");
    const messages = Array.from({ length: 40 }, (_, index) => {
      const text = `Message ${index}. ${"It goes on and on about the same thing, at length. ".repeat(20)}`;
      return { id: `m${index}`, role: index % 2 === 0 ? "user" : "assistant", parts: [{ type: "text", text }] };
    });
    await own.ok("import", own.file("long.json", JSON.stringify({ id: "long", messages })));
    const done = await own.json("compact", "long", "--tail-tokens", "1000");
    expect(done).toMatchObject({
      session: "long",
      summarizer: "the offline summariser",
      compaction: { fromMessageId: "m3", summary: expect.stringContaining("no language model wrote this") },
    });
    expect((await own.jsonLines<{ id: string }>("show", "long")).map(({ id }) => id).slice(0, 4)).toEqual([
      "m0",
      "m1",
      "m2",
      expect.stringMatching(/^compaction_/),
    ]);
    expect(await own.jsonLines("show", "long", "--all")).toEqual(messages);
    expect(await own.ok("compact", "long")).toContain("Nothing to compact");
    expect((await own.run("compact", "long", "--model", "nosuch/model")).err).toMatch(/^stemma: .*nosuch/);
    expect(await own.run("compact", "long", "--base-url", "http://localhost:1")).toMatchObject({ code: 1 });
  });

  it("fails when the model does, and lays no summary", async () => {
    const own = commandLine(folder, "model-fails.db");
    const parts = [{ type: "text", text: "It goes on and on about the same thing, at length. ".repeat(20) }];
    const messages = Array.from({ length: 10 }, (_, index) => ({ id: `m${index}`, role: "user", parts }));
    await own.ok("import", own.file("long.json", JSON.stringify({ id: "long", messages })));
    const server = createServer((_request, response) => response.writeHead(400).end("{}")).listen(0);
    const { port } = server.address() as AddressInfo;
    const model = ["--model", "local", "--base-url", `http://127.0.0.1:${port}/v1`];
    expect(await own.run("compact", "long", "--tail-tokens", "100", ...model)).toMatchObject({ code: 1, out: "" });
    server.close();
    expect((await own.jsonLines("show", "long")).length).toBe(10);
  });

  it("deletes when it is told to, and not otherwise", async () => {
    const own = await filled("delete.db");
    expect(await own.run("delete", "garden-1")).toMatchObject({ code: 1, err: expect.stringContaining("--yes") });
    expect(await run(["--db", own.db, "delete", "garden-1"], { answering: true, input: "n\n" })).toMatchObject({
      code: 1,
    });
    expect(await own.run("delete", "garden-1", "attic", "--yes")).toMatchObject({ code: 1 });
    expect((await own.json<{ sessions: unknown[] }>("sessions")).sessions).toHaveLength(2);
    expect(await run(["--db", own.db, "delete", "garden-1"], { answering: true, input: "y\n" })).toMatchObject({
      code: 0,
    });
    expect(await own.json("delete", "kitchen-1", "--yes")).toEqual({ deleted: ["kitchen-1"] });
    expect((await own.json<{ sessions: unknown[] }>("sessions")).sessions).toEqual([]);
    expect(await own.json("search", "carrot")).toEqual({ results: [] });
  });
});

describe("stemma delete --yes", () => {
  it("deletes a session by its whole id only: nobody is asked which one is meant", async () => {
    const own = await filled("whole-id.db");
    for (const part of ["garden", "garden-", "The garden"]) {
      const refused = await own.run("delete", "kitchen-1", part, "--yes");
      expect(refused).toMatchObject({
        code: 1,
        err: expect.stringContaining(`no session with the whole id "${part}"`),
      });
    }
    await own.ok("delete", "kitchen-1", "--yes");
    expect((await own.json<{ sessions: unknown[] }>("sessions")).sessions).toMatchObject([{ id: "garden-1" }]);
    const asked = await run(["--db", own.db, "delete", "garden"], { answering: true, input: "y\n" });
    expect(asked).toMatchObject({ code: 0, err: expect.stringContaining("Delete The garden (garden-1)?") });
  });
});

describe("stemma prune", () => {
  it("removes what is too old, when it is told to", async () => {
    const own = await filled("prune.db");
    const sessions = async () => (await own.json<{ sessions: unknown[] }>("sessions")).sessions.length;
    const planned = await own.json("prune", "--older-than", "2000-01-01", "--keep-messages", "1", "--dry-run");
    expect(planned).toMatchObject({ dryRun: true, deleted: { messages: expect.any(Number) } });
    const asked = await run(["--db", own.db, "prune", "--keep-messages", "1"], { answering: true, input: "n\n" });
    expect(asked).toMatchObject({ code: 1, err: expect.stringContaining("Nothing was removed") });
    expect(await own.json("prune", "--keep-messages", "1", "--yes")).toMatchObject({ residue: "pending" });
    expect(await own.jsonLines("show", "garden-1")).toHaveLength(1);
    expect(await own.ok("prune")).toContain("Nothing that was deleted is left");
    expect(await own.json("prune", "--older-than", "1d", "--yes")).toMatchObject({ deleted: {} });
    expect(await sessions()).toBe(2);
    const rest = await own.json("prune", "--older-than", "2999-01-01", "--metadata", "{}", "--yes", "--scrub");
    expect(rest).toMatchObject({ dryRun: false, deleted: { sessions: 2 }, residue: "none" });
    expect(await sessions()).toBe(0);
    expect(await own.run("prune", "--metadata", "none")).toMatchObject({ code: 2 });
  });
});

describe("the command line", () => {
  it("ends with 2 when it is called the wrong way, and says what is wrong", async () => {
    for (const args of [
      ["frobnicate"],
      ["compact"],
      ["sessions", "--limit", "x"],
      ["export"],
      ["tree", "a", "b"],
      ["--nosuch"],
    ]) {
      const { code, out, err } = await stemma.run(...args);
      expect([code, out]).toEqual([2, ""]);
      expect(err).toMatch(/^stemma: /);
    }
    expect(JSON.parse((await stemma.run("--json", "compact")).err)).toMatchObject({ error: { code: "USAGE" } });
  });

  it("ends with 0 after help and version", async () => {
    expect(await stemma.run("--version")).toEqual({ code: 0, out: "1.2.3\n", err: "" });
    expect((await stemma.run("--help")).out).toContain("Exit codes");
    expect(await stemma.run("import", "--help")).toMatchObject({
      code: 0,
      out: expect.stringMatching(/pi .*openai .*--db <path>|--db <path>.*pi /s),
    });
  });

  it("takes the database from its option before or behind the command", async () => {
    expect((await run(["sessions", "--db", stemma.db])).out).toContain("The garden");
  });

  it("tells a file that is no database in one line", async () => {
    const path = stemma.file("no.db", "this is a text, not a database; long enough to be looked at by SQLite");
    const { code, err } = await run(["--db", path, "sessions"]);
    expect(code).toBe(1);
    expect(err).toMatch(/^stemma: .*not a .*database.*\n$/i);
  });
});
