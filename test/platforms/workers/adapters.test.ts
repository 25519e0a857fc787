import { expect, it } from "vitest";
import { describeWorkerd } from "../../workers/workerd.js";

type ClaudeWorker = typeof import("../../workers/adapters/claude.js");
type AgentsWorker = typeof import("../../workers/adapters/openai-agents.js");
type HistoryWorker = typeof import("../../workers/adapters/langchain.js");
type GraphWorker = typeof import("../../workers/adapters/langgraph.js");

describeWorkerd<ClaudeWorker>(
  "stemma/claude in workerd",
  { entry: "adapters/claude.ts", objects: { ClaudeObject: true }, node: true },
  (workerd) => {
    it("keeps the files of the memory tool, which a search finds", async () => {
      const { files, found } = await workerd.object("ClaudeObject", "memory").remember();
      expect(files).toContain("/memories/tea.md");
      expect(found).toEqual(["Ada drinks green tea.\n"]);
    });

    it("loads sessions of the Agent SDK, and says that it cannot append where the SDK does not load", async () => {
      const object = workerd.object("ClaudeObject", "sessions");
      expect(await object.load("s1")).toEqual([{ role: "user", content: "Hello" }]);
      await expect(object.append("s2")).rejects.toMatchObject({ code: "DRIVER_MISSING" });
    });
  },
);

describeWorkerd<AgentsWorker>(
  "stemma/openai-agents in workerd",
  { entry: "adapters/openai-agents.ts", objects: { AgentsObject: true }, node: true },
  (workerd) => {
    it("keeps what an agent says", async () => {
      const items = await workerd.object("AgentsObject", "chat").run();
      expect(items).toHaveLength(4);
      expect(items.at(-1)).toContain("You are Ada.");
    });
  },
);

describeWorkerd<HistoryWorker>(
  "stemma/langchain in workerd",
  { entry: "adapters/langchain.ts", objects: { HistoryObject: true } },
  (workerd) => {
    it("keeps a chat history", async () => {
      const said = await workerd.object("HistoryObject", "chat").chat();
      expect(said).toEqual(["human: I am Ada.", "ai: Hello Ada."]);
    });
  },
);

describeWorkerd<GraphWorker>(
  "stemma/langgraph in workerd",
  { entry: "adapters/langgraph.ts", objects: { GraphObject: true }, node: true },
  (workerd) => {
    it("keeps a thread, and shows it as a session", async () => {
      const { state, session } = await workerd.object("GraphObject", "chat").run();
      expect(state).toBe(4);
      expect(session).toEqual(["Hello", "Answer 1", "Again", "Answer 3"]);
    });
  },
);
