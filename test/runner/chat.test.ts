// One program: the chat as a process, which each test starts and talks to.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { AgentContextProvider, SessionManager } from "../../src/session.js";
import { sqlite } from "../../src/sqlite.js";
import { bundle } from "./bundle.js";
import { openaiServer } from "./model-servers.js";

let program: string;
let folder: string;
let db: string;
const children: ChildProcess[] = [];

beforeAll(async () => {
  program = join(await bundle("chat", ["test/runner/chat-main.ts"]), "chat-main.mjs");
});
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "stemma-chat-"));
  db = join(folder, "chat.db");
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

function start(...options: string[]) {
  const env = {
    ...process.env,
    STEMMA_MODEL: "",
    STEMMA_BASE_URL: "",
    STEMMA_SKILLS: "",
    OPENAI_API_KEY: "",
    STEMMA_USER: "ada",
  };
  const child = spawn(process.execPath, [program, "chat", "--db", db, ...options], { cwd: folder, env });
  children.push(child);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (output += text));
  const ended = new Promise<number | null>((resolve) => child.once("close", (code) => resolve(code)));
  return {
    child,
    ended,
    output: () => output,
    /** Waits until this was printed. */
    async shows(text: string): Promise<void> {
      for (let attempt = 0; attempt < 400 && !output.includes(text); attempt += 1) {
        await new Promise((resolve) => setTimeout(resolve, 25));
      }
      expect(output).toContain(text);
    },
  };
}

/** Runs a chat on these lines. */
async function chat(lines: string[], ...options: string[]): Promise<{ output: string; code: number | null }> {
  const run = start(...options);
  run.child.stdin.end(`${lines.join("\n")}\n`);
  const code = await run.ended;
  return { output: run.output(), code };
}

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
    const { output } = await chat(["/context"]);
    expect(output).toContain("- tea: How to make tea");
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
    expect(tools.sort()).toEqual(["expand_summary", "search_context", "session_search", "set_context"]);
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
    const unknown = start("--model", "nosuch");
    unknown.child.stdin.end();
    expect(await unknown.ended).toBe(1);
    expect(unknown.output()).toContain("write provider/model (anthropic/nosuch)");
    expect(unknown.output()).toContain("--base-url");
  });

  it("says what to set for a model that needs a key", async () => {
    const run = start("--model", "openai/gpt-5");
    run.child.stdin.end();
    expect(await run.ended).not.toBe(0);
    expect(run.output()).toContain("OPENAI_API_KEY");
  });

  it("ends a turn at Ctrl-C with a valid history, and the chat at the second", async () => {
    const hanging = await hangingServer();
    const run = start("--model", "m", "--base-url", hanging.url);
    run.child.stdin.write("Tell me a story\n");
    await run.shows("Once upon");
    run.child.kill("SIGINT");
    await run.shows("(aborted; what was finished is kept)");
    run.child.kill("SIGINT");
    expect(await run.ended).toBe(130);
    hanging.close();
    const server = await openaiServer({ say: "The end." });
    const { output } = await chat(["Go on"], "--model", "m", "--base-url", server.url);
    expect(output).toContain("The last turn was interrupted");
    expect(messagesOf(server.requests[0]).map(({ role }) => role)).toEqual(["system", "user", "assistant", "user"]);
    await server.close();
  });

  it("goes on with an imported session whose last call has no answer", async () => {
    const call = { id: "c1", type: "function", function: { name: "lookup", arguments: '{"x":1}' } };
    const file = join(folder, "session.json");
    const messages = [
      { role: "user", content: "Look it up" },
      { role: "assistant", content: null, tool_calls: [call] },
    ];
    writeFileSync(file, JSON.stringify({ messages }));
    execFileSync(process.execPath, [program, "import", file, "--db", db, "--session", "imported"]);
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

  it("goes on after kill -9 in the middle of an answer", async () => {
    const hanging = await hangingServer();
    const run = start("--model", "m", "--base-url", hanging.url);
    run.child.stdin.write("Tell me a story\n");
    await run.shows("Once upon");
    run.child.kill("SIGKILL");
    await run.ended;
    hanging.close();
    const server = await openaiServer({ say: "The end." });
    const { output } = await chat(["/retry"], "--model", "m", "--base-url", server.url);
    expect(output).toContain("The last turn was interrupted");
    expect(output).toContain("The end.");
    await server.close();
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

/** A server that begins an answer and never ends it. */
async function hangingServer(): Promise<{ url: string; close(): void }> {
  const server = createServer((_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    const delta = { role: "assistant", content: "Once upon a time" };
    const chunk = {
      id: "c",
      object: "chat.completion.chunk",
      created: 1,
      model: "m",
      choices: [{ index: 0, delta, finish_reason: null }],
    };
    response.write(`data: ${JSON.stringify(chunk)}\n\n`);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
