import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  type AgentEvent,
  type CreateSessionOptions,
  createSession,
  resolveModel,
} from "../../../packages/stemma/src/agent.js";
import { memory } from "../../../packages/store/src/memory.js";
import { collect } from "../../runner/mock-model.js";
import { anthropicServer, type ModelServer, openaiServer, type Reply } from "../../runner/model-servers.js";
import { add, fails } from "../../runner/tools.js";

const servers: ModelServer[] = [];
beforeEach(() => {
  for (const name of ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"])
    vi.stubEnv(name, "");
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

interface Protocol {
  readonly name: string;
  start(...replies: Reply[]): Promise<ModelServer>;
  /** What makes a session use the server. */
  options(server: ModelServer): CreateSessionOptions;
  readonly usage: object;
}

const protocols: Protocol[] = [
  {
    name: "an OpenAI-compatible server",
    start: openaiServer,
    options: (server) => ({ model: "some-model", baseURL: server.url }),
    usage: { input_tokens: 8, output_tokens: 7, cache_read_input_tokens: 12 },
  },
  {
    name: "an Anthropic Messages server",
    start: anthropicServer,
    options: (server) => {
      vi.stubEnv("ANTHROPIC_BASE_URL", server.url);
      vi.stubEnv("ANTHROPIC_API_KEY", "key");
      return { model: "claude-sonnet-4-20250514" };
    },
    usage: { input_tokens: 8, output_tokens: 7, cache_read_input_tokens: 12, cache_creation_input_tokens: 3 },
  },
];

/** The roles of the messages of a request. */
function rolesOf(request: Record<string, unknown> | undefined): string[] {
  const { messages } = (request ?? { messages: [] }) as { messages: { role: string }[] };
  return messages.map(({ role }) => role);
}

for (const protocol of protocols) {
  describe(protocol.name, () => {
    const open = async (...replies: Reply[]) => {
      const server = await protocol.start(...replies);
      servers.push(server);
      const session = await createSession({
        ...protocol.options(server),
        sessionStorage: memory(),
        tools: { add, fails },
        settings: { maxRetries: 0 },
      });
      return { server, session };
    };
    const ask = async (session: Awaited<ReturnType<typeof createSession>>, question: string): Promise<AgentEvent[]> => {
      await session.send(question);
      return collect(session.receive());
    };

    it("streams text, with its usage", async () => {
      const { server, session } = await open({ say: "Hello, 世界" });
      const events = await ask(session, "Hi");
      expect(events.flatMap((event) => (event.type === "text" ? [event.text] : []))).toHaveLength(2);
      expect(events.at(-1)).toEqual({ type: "stop", stop_reason: "end_turn", usage: protocol.usage });
      expect(session.getMessages()[1]).toMatchObject({ content: "Hello, 世界" });
      expect(server.requests[0]).toMatchObject({ stream: true });
    });

    it("calls tools in parallel, and is asked again with their results", async () => {
      const { server, session } = await open(
        {
          say: "Let me see.",
          call: [
            ["a", "add", { x: 1 }],
            ["b", "add", { x: 2 }],
            ["c", "fails", {}],
          ],
        },
        { say: "2 and 3" },
        { say: "As I said" },
      );
      const events = await ask(session, "Add");
      const results = events.filter((event) => event.type === "tool_result");
      expect(Object.fromEntries(results.map((event) => [event.tool_use_id, event.content]))).toEqual({
        a: '{"sum":2}',
        b: '{"sum":3}',
        c: "No such city.",
      });
      expect(events.at(-1)).toMatchObject({ stop_reason: "end_turn" });
      await ask(session, "Sure?");
      // The stored history says the same as what was sent in the turn itself.
      const sent = (index: number) => server.requests[index]?.messages as unknown[];
      expect(sent(2).slice(0, sent(1).length)).toEqual(sent(1));
      expect(rolesOf(server.requests[2]).slice(-2)).toEqual(["assistant", "user"]);
    });

    it("reports what the server refuses", async () => {
      const { session } = await open({ fail: 529, message: "Overloaded, sorry" }, { say: "Here" });
      const events = await ask(session, "Hi");
      expect(events).toMatchObject([
        { type: "error", error: { message: expect.stringContaining("Overloaded") } },
        { type: "stop", stop_reason: "error" },
      ]);
      expect((await collect(session.receive())).at(-1)).toMatchObject({ stop_reason: "end_turn" });
    });

    for (const how of ["reset", "end"] as const) {
      it(`keeps what came before the connection broke (${how}), and goes on`, async () => {
        const { server, session } = await open({ cut: how, say: "So far" }, { say: "And so on" });
        const events = await ask(session, "Tell");
        expect(events.slice(-2)).toMatchObject([{ type: "error" }, { type: "stop", stop_reason: "error" }]);
        expect(session.getMessages().at(-1)).toMatchObject({ content: "So far", metadata: { interrupted: "error" } });
        expect((await ask(session, "Go on")).at(-1)).toMatchObject({ stop_reason: "end_turn" });
        expect(rolesOf(server.requests[1])).toEqual(["user", "assistant", "user"]);
      });

      it(`runs no tool whose call broke off (${how})`, async () => {
        const { session } = await open({ cut: how, say: "Let me", call: ["a", "add", '{"x": 1'] }, { say: "Well" });
        const events = await ask(session, "Add");
        expect(events.at(-1)).toMatchObject({ stop_reason: "error" });
        const results = events.filter((event) => event.type === "tool_result");
        expect(results.every(({ is_error }) => is_error)).toBe(true);
        expect((await ask(session, "Go on")).at(-1)).toMatchObject({ stop_reason: "end_turn" });
      });
    }
  });
}

describe("resolveModel", () => {
  it("takes a key for the provider that a name belongs to", async () => {
    vi.stubEnv("ANTHROPIC_API_KEY", "a");
    vi.stubEnv("OPENAI_API_KEY", "o");
    expect(await resolveModel("claude-sonnet-4-20250514")).toMatchObject({ modelId: "claude-sonnet-4-20250514" });
    expect(await resolveModel("anthropic/claude-x")).toMatchObject({
      provider: "anthropic.messages",
      modelId: "claude-x",
    });
    expect(await resolveModel("gpt-5")).toMatchObject({ modelId: "gpt-5" });
    expect((await resolveModel("openai/o9")).provider).toMatch(/^openai/);
    expect(await resolveModel("gpt-5", { apiKey: "mine" })).toMatchObject({ modelId: "gpt-5" });
  });

  it("sends the name as it is to a server of one's own, with the key if there is one", async () => {
    const server = await openaiServer({ say: "Hi" }, { say: "Hi" });
    servers.push(server);
    for (const apiKey of [undefined, "secret"]) {
      const session = await createSession({
        model: "openai/gpt-oss",
        baseURL: server.url,
        apiKey,
        sessionStorage: memory(),
      });
      await session.send("Hi");
      await collect(session.receive());
    }
    expect(server.requests.map(({ model }) => model)).toEqual(["openai/gpt-oss", "openai/gpt-oss"]);
    expect(server.headers.map(({ authorization }) => authorization)).toEqual([undefined, "Bearer secret"]);
  });

  it("says which variable to set, and which package to install", async () => {
    const failure = (message: RegExp) => ({ code: "MODEL_UNAVAILABLE", message: expect.stringMatching(message) });
    await expect(resolveModel("claude-x")).rejects.toMatchObject(failure(/ANTHROPIC_API_KEY/));
    await expect(resolveModel("openai/gpt-5")).rejects.toMatchObject(failure(/OPENAI_API_KEY/));
    await expect(resolveModel("mistral/large")).rejects.toMatchObject(failure(/npm install @ai-sdk\/mistral@3/));
    await expect(resolveModel("nobody/model")).rejects.toMatchObject(failure(/"nobody" is not a provider/));
    await expect(resolveModel("llama3")).rejects.toMatchObject(failure(/provider\/model/));
    await expect(resolveModel("llama3", { baseURL: "localhost" })).rejects.toMatchObject(failure(/not a URL/));
    await expect(resolveModel(7 as never)).rejects.toMatchObject(failure(/model object/));
  });
});
