// One chat in the process of its test, on streams that take the place of the process's.
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { registerChat } from "../../../packages/cli/src/chat/command.js";
import { processIo } from "../../../packages/cli/src/io.js";
import { runCli } from "../../../packages/cli/src/run.js";
import { AgentContextProvider, SessionManager } from "../../../packages/stemma/src/session.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { replaceStreams } from "../../helpers/replaced-streams.js";
import { openaiServer } from "../../runner/model-servers.js";

const OUTSIDE = process.cwd();

let folder: string;
let db: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "stemma-chat-"));
  db = join(folder, "chat.db");
  // Skills are looked for there.
  process.chdir(folder);
  for (const name of ["STEMMA_MODEL", "STEMMA_MODEL_BASE_URL", "STEMMA_SKILLS", "OPENAI_API_KEY"]) vi.stubEnv(name, "");
  vi.stubEnv("STEMMA_USER", "ada");
});
afterEach(() => {
  vi.restoreAllMocks();
  process.chdir(OUTSIDE);
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs a command line on this input. */
async function stemma(argv: readonly string[], input = ""): Promise<{ output: string; code: number }> {
  const streams = replaceStreams();
  try {
    streams.type(input);
    streams.end();
    const code = await runCli(["--db", db, ...argv], processIo(), { version: "1.2.3", before: [registerChat] });
    return { output: streams.output(), code: code || Number(process.exitCode ?? 0) };
  } finally {
    process.exitCode = undefined;
    streams.restore();
  }
}

/** Runs a chat on these lines. */
function chat(lines: readonly string[], ...options: string[]): Promise<{ output: string; code: number }> {
  return stemma(["chat", ...options], `${lines.join("\n")}\n`);
}

it("refuses a folder of skills that is named and not there, and makes no database", async () => {
  const refused = expect.stringContaining('There is no folder "nowhere" of skills');
  expect(await chat(["hello"], "--skills", "nowhere")).toMatchObject({ code: 1, output: refused });
  vi.stubEnv("STEMMA_SKILLS", "nowhere");
  expect(await chat(["hello"])).toMatchObject({ code: 1, output: refused });
  expect(existsSync(db)).toBe(false);
});

describe("without a model", () => {
  it("says so, remembers through the tools, and goes on after a restart", async () => {
    const first = await chat(["remember that my cat is called Momo", "what do you remember about my cat?"]);
    expect(first.code).toBe(0);
    expect(first.output).toContain("No model is configured");
    expect(first.output).toContain(
      'set_context {"label":"memory","content":"- my cat is called Momo","action":"append"}',
    );
    const second = await chat(["What do you know about my cat", "hello there", "search Momo"]);
    expect(second.output).toContain("remember that my cat is called Momo — 6 messages");
    expect(second.output).toContain("From the memory block:\n- my cat is called Momo");
    expect(second.output).toContain(
      "I am the offline responder: a few fixed rules that use the memory tools, not a language model.",
    );
    expect(second.output).toMatch(
      /\[session sess_\S+ · message \S+ · user · .*\]\nremember that my cat is called Momo/,
    );
    const store = sqlite(db);
    const [info] = await SessionManager.create(store).list();
    expect(await store.session(info?.id ?? "").length()).toBe(14);
    await store.close();
  });

  it("takes the memory along into a new conversation, and forgets when told to", async () => {
    await chat(["remember that I like tea", "remember: I live in Bern"]);
    const { output } = await chat(["what do you remember?", "forget tea", "what do you remember?"], "--new");
    expect(output).toContain("a new conversation");
    expect(output).toContain("- I like tea\n- I live in Bern");
    expect(output.slice(output.indexOf("no longer holds"))).not.toContain("I like tea");
    expect(output.slice(output.indexOf("no longer holds"))).toContain("- I live in Bern");
  });

  it("knows a user in a new conversation, and keeps users apart", async () => {
    await chat(["remember that I like tea"], "--user", "bob");
    const bob = await chat(
      ["what do you remember?", "/sessions", "what do you remember about tea?"],
      "--user",
      "bob",
      "--new",
    );
    expect(bob.output).toContain("From the memory block:\n- I like tea");
    expect(bob.output).toContain("remember that I like tea");
    const eve = await chat(["what do you remember?", "search tea", "/sessions"], "--user", "eve");
    expect(eve.output).toContain("a new conversation");
    expect(eve.output).toContain("Nothing is remembered.");
    expect(eve.output).not.toContain("I like tea");
    const store = sqlite(db);
    const [session] = (await SessionManager.create(store).forUser("bob").list()).reverse();
    await store.close();
    const other = await chat(["hello"], "--user", "eve", "--session", session?.id ?? "");
    expect(other.code).toBe(1);
    expect(other.output).toContain("belongs to another user");
  });

  it("goes on with the chat and the memory of a time when they belonged to nobody", async () => {
    const store = sqlite(db);
    const everybody = SessionManager.create(store);
    await everybody.create("Old times", { id: "old", source: "chat" });
    await everybody.append("old", { id: "m", role: "user", parts: [{ type: "text", text: "Hello" }] });
    await new AgentContextProvider(store, "memory", { shared: true }).set("- likes tea");
    await store.close();
    const { output } = await chat(["what do you remember?"]);
    expect(output).toContain("Old times — 1 message");
    expect(output).toContain("- likes tea");
    expect((await chat(["forget tea"])).output).toContain("no longer holds");
    expect((await chat(["what do you remember?"])).output).toContain("Nothing is remembered.");
  });

  it("finds a conversation by the beginning of its id or by its name, and says when it makes one", async () => {
    await chat(["remember that a is 1"], "--session", "garden-2026");
    expect((await chat([], "--session", "gard")).output).toContain("remember that a is 1 — 3 messages");
    expect((await chat([], "--session", "remember that a is 1")).output).toContain("3 messages");
    const fresh = await chat([], "--session", "kitchen");
    expect(fresh.output).toContain('There was no conversation "kitchen": this is a new one, under that id.');
    await chat([], "--session", "garden-2027");
    await chat([], "--session", "garden-2028", "--new");
    const many = await chat([], "--session", "garden-202");
    expect(many.code).toBe(1);
    expect(many.output).toContain('"garden-202" can be any of 3 sessions');
  });

  it("shows the versions of a message, and goes on with another one", async () => {
    await chat(["remember that a is 1", "/branch remember that b is 2"], "--session", "s");
    const list = await chat(["/versions"], "--session", "s");
    expect(list.output).toContain("  1  user: remember that a is 1\n* 2  user: remember that b is 2\n");
    const { output, code } = await chat(["/versions 1", "/versions", "/tree"], "--session", "s");
    expect(code).toBe(0);
    expect(output).toContain("* 1  user: remember that a is 1\n  2  user: remember that b is 2\n");
    expect(output).toMatch(/Noted in the memory block: a is 1 {2}← active/);
    expect(output).toMatch(/assistant \S+ {2}· set_context \{.* → Appended/);
    const wrong = await chat(["/versions 7", "/versions x"], "--session", "s");
    expect(wrong.output).toContain("There are 2 versions");
    expect((await chat(["/versions"], "--session", "new")).output).toContain("No message here has another version");
  });

  it("branches, goes to messages, retries, and draws the tree", async () => {
    await chat(["remember that a is 1", "/branch remember that b is 2", "/retry"], "--session", "s");
    const store = sqlite(db);
    const [first] = await store.session("s").tree();
    await store.close();
    const { output, code } = await chat(
      [
        `/goto ${first?.id.slice(0, 8)}`,
        "what do you remember?",
        `/branch @${first?.id} remember that c is 3`,
        "/tree",
      ],
      "--session",
      "s",
    );
    expect(code).toBe(0);
    expect(output).toContain("After user: remember that a is 1");
    expect(output).toMatch(/├─ user .* remember that a is 1\n/);
    expect(output).toMatch(/├─ user .* remember that b is 2\n/);
    expect(output).toMatch(/assistant .*Noted in the memory block: c is 3 {2}← active/);
  });

  it("compacts, searches, shows context and usage, lists, forks and switches sessions", async () => {
    const lines = Array.from(
      { length: 12 },
      (_, index) => `remember that fact ${index} holds. ${"More words on it. ".repeat(30)}`,
    );
    const { output, code } = await chat(
      [
        ...lines,
        "/compact",
        "/search fact 3",
        "/context",
        "/usage",
        "/fork a copy",
        "/sessions",
        "/sessions tea",
        "/help",
        "/new fresh",
        "/quit",
        "remember that this is not read",
      ],
      "--session",
      "tea",
    );
    expect(code).toBe(0);
    expect(output).toMatch(/now sees \d+ messages instead of 36; summarised by the offline summariser/);
    expect(output).toContain("MEMORY (What you know about the user, in all conversations)");
    expect(output).toContain("0 tokens in, 0 out");
    expect(output).toMatch(/In a copy \(sess_/);
    expect(output).toMatch(/\* .* a copy\n/);
    expect(output).toContain("(36 messages).");
    for (const name of [
      "tree",
      "retry",
      "branch",
      "goto",
      "compact",
      "context",
      "search",
      "sessions",
      "fork",
      "usage",
      "help",
    ]) {
      expect(output).toContain(`  /${name}`);
    }
    expect(output).toContain("A new conversation.");
    expect(output).not.toContain("this is not read");
  });

  it("says what is wrong with a command, and fails where nobody sits there", async () => {
    const { output, code } = await chat(["/nothing", "/goto 99", "/branch", "/retry", "/sessions 77", "/search"]);
    expect(code).toBe(1);
    expect(output).toContain("There is no command /nothing");
    expect(output).toContain('There is no message "99"');
    expect(output).toContain("You have not said anything here yet.");
    expect(output).toContain('There is no session "77"');
  });

  it("loads skills from a folder", async () => {
    mkdirSync(join(folder, "skills", "tea"), { recursive: true });
    writeFileSync(
      join(folder, "skills", "tea", "SKILL.md"),
      "---\nname: tea\ndescription: How to make tea\n---\nBoil.",
    );
    mkdirSync(join(folder, "skills", "beta"));
    writeFileSync(join(folder, "skills", "beta", "SKILL.md"), "---\ndescription: [Beta] Waits\n---\nWait.");
    symlinkSync(join(folder, "nothing"), join(folder, "skills", "gone"));
    const { output } = await chat(["/context", "/new", "/context"]);
    expect(output).toContain("- tea: How to make tea");
    expect(output).toContain("- beta: [Beta] Waits");
    expect(output.split("The skill is left out: it is a link to nothing.")).toHaveLength(2);
    expect(output.split("The description is no text in YAML.")).toHaveLength(2);
  });

  it("prints nothing that could steer a terminal", async () => {
    const { output } = await chat(["remember that \u001b[31mred\u0007", "/tree", "what do you remember?"]);
    expect(output).not.toContain("\u001b");
    expect(output).not.toContain("\u0007");
  });
});

describe("with a model", () => {
  it("streams from an OpenAI-compatible server, and shows what the tools do", async () => {
    const server = await openaiServer(
      { call: [["c", "set_context", { label: "memory", content: "- tea" }]] },
      { say: "I will remember tea." },
      { say: "You like tea." },
    );
    const first = await chat(["I like tea"], "--model", "some-model", "--base-url", server.url);
    expect(first.output).toContain("Model: some-model.");
    expect(first.output).toMatch(/· set_context .*\n.*Replaced memory/);
    expect(first.output).toContain("I will remember tea.");
    const second = await chat(["What do I like?", "/usage"], "--model", "some-model", "--base-url", server.url);
    expect(second.output).toContain("You like tea.");
    expect(second.output).toContain("tokens read from the cache");
    const tools = toolsOf(server.requests[0]);
    expect(tools.sort()).toEqual(["expand_summary", "recall", "search_context", "session_search", "set_context"]);
    // The block as it is now stands in the prompt of the second run.
    expect(JSON.stringify(messagesOf(server.requests[2])[0])).toContain("- tea");
    await server.close();
  });

  it("says when the model fails, and ends with 1", async () => {
    const server = await openaiServer({ fail: 400, message: "no such model" });
    const { output, code } = await chat(["Hi"], "--model", "m", "--base-url", server.url);
    expect(output).toContain("The model failed: no such model");
    expect(code).toBe(1);
    await server.close();
  });

  it("says what is wrong with a refused connection, an unknown model and a refused key", async () => {
    // The AI SDK waits for seconds before it asks such a server again.
    const wait = setTimeout;
    // fetch waits by it as well, and hands a value to what it calls: it waits as long as it wants to.
    vi.spyOn(globalThis, "setTimeout").mockImplementation(((work: () => void, delay = 0, ...values: unknown[]) =>
      wait(work, values.length === 0 ? Math.min(delay, 50) : delay, ...values)) as typeof setTimeout);
    const asked = async (url: string) => (await chat(["Hi"], "--model", "nosuch", "--base-url", url)).output;
    const closed = await openaiServer();
    await closed.close();
    const place = new URL(closed.url).origin;
    expect(await asked(closed.url)).toContain(`The model failed: nothing answers at ${place} (connect ECONNREFUSED`);
    const server = await openaiServer(
      { fail: 404, message: "try pulling it first" },
      { fail: 401, message: "Incorrect API key provided" },
    );
    const origin = new URL(server.url).origin;
    expect(await asked(server.url)).toContain(`${origin} does not know the model "nosuch" (try pulling it first).`);
    expect(await asked(server.url)).toContain(`${origin} refused the key (Incorrect API key provided).`);
    await server.close();
    const unknown = await chat([], "--model", "nosuch");
    expect(unknown.code).toBe(1);
    expect(unknown.output).toContain("write provider/model (anthropic/nosuch)");
    expect(unknown.output).toContain("--base-url");
  });

  it("says what to set for a model that needs a key", async () => {
    const { output, code } = await chat([], "--model", "openai/gpt-5");
    expect(code).not.toBe(0);
    expect(output).toContain("OPENAI_API_KEY");
  });

  it("goes on with an imported session whose last call has no answer", async () => {
    const call = { id: "c1", type: "function", function: { name: "lookup", arguments: '{"x":1}' } };
    const file = join(folder, "session.json");
    const messages = [
      { role: "user", content: "Look it up" },
      { role: "assistant", content: null, tool_calls: [call] },
    ];
    writeFileSync(file, JSON.stringify({ messages }));
    await stemma(["import", file, "--session", "imported"]);
    const server = await openaiServer({ say: "Never mind, then." });
    const options = ["--session", "imported", "--model", "m", "--base-url", server.url];
    const { output, code } = await chat(["And now?"], ...options);
    await server.close();
    expect(output).toContain("The last turn was interrupted");
    expect(output).toContain("Never mind, then.");
    expect(code).toBe(0);
    expect(messagesOf(server.requests[0]).slice(1)).toMatchObject([
      { role: "user" },
      { role: "assistant", tool_calls: [{ id: "c1" }] },
      { role: "tool", tool_call_id: "c1", content: expect.stringContaining("Interrupted") },
      { role: "user" },
    ]);
    const store = sqlite(db);
    const history = await SessionManager.create(store).getSession("imported").getHistory();
    expect(history[1]).toMatchObject({ parts: [{ state: "output-error" }], metadata: { interrupted: "killed" } });
    await store.close();
  });
});

type Request = Record<string, unknown> | undefined;

function messagesOf(request: Request): { role: string }[] {
  return (request ?? { messages: [] }).messages as { role: string }[];
}

function toolsOf(request: Request): string[] {
  const { tools } = (request ?? { tools: [] }) as { tools: { function: { name: string } }[] };
  return tools.map((tool) => tool.function.name);
}
