// LangGraph's servers as their command lines start them, in memory.
import { execFileSync } from "node:child_process";
import { join } from "node:path";

const PACKAGES = ["@langchain/langgraph-cli@1.5.1", "@langchain/langgraph@1.7.3", "@langchain/core@1"];
const PYTHON_PACKAGES = ["langgraph-cli[inmem]", "langgraph", "langchain-core"];

const OF_BOTH = {
  empty: "/ok",
  calls: { append: "`update_state`", read: "`get_state`" },
  async begin(send) {
    const { thread_id: thread } = await send("POST", "/threads", { metadata: { graph_id: "chat" } });
    const { assistant_id: assistant } = (await send("POST", "/assistants/search", { graph_id: "chat" }))[0];
    // A thread has a graph once it has run.
    await send("POST", `/threads/${thread}/runs/wait`, { assistant_id: assistant, input: { messages: [] } });
    return {
      append: (id, content) => {
        const messages = [{ type: "human", id, content }];
        return send("POST", `/threads/${thread}/state`, { values: { messages }, as_node: "say" });
      },
      read: () => send("GET", `/threads/${thread}/state`),
    };
  },
};

export const langGraph = {
  ...OF_BOTH,
  name: "LangGraph's server in JavaScript",
  files: {
    "package.json": JSON.stringify({ private: true, type: "module" }),
    "langgraph.json": JSON.stringify({ node_version: "20", graphs: { chat: "./graph.mjs:graph" } }),
    "graph.mjs": `import { MessagesAnnotation, StateGraph } from "@langchain/langgraph";
export const graph = new StateGraph(MessagesAnnotation).addNode("say", () => ({ messages: [] })).addEdge("__start__", "say").compile();
`,
  },
  install: (folder) =>
    execFileSync("npm", ["install", "--no-audit", "--no-fund", "--loglevel=error", ...PACKAGES], { cwd: folder }),
  command: (_folder, port) => [
    process.execPath,
    ...["node_modules/.bin/langgraphjs", "dev", "--port", String(port), "--no-browser"],
  ],
};

export const langGraphPython = {
  ...OF_BOTH,
  name: "LangGraph's server in Python",
  files: {
    "langgraph.json": JSON.stringify({ dependencies: ["."], graphs: { chat: "./graph.py:graph" } }),
    "graph.py": `from langgraph.graph import START, MessagesState, StateGraph

graph = StateGraph(MessagesState).add_node("say", lambda state: {"messages": []}).add_edge(START, "say").compile()
`,
  },
  install: (folder) => {
    execFileSync("python3", ["-m", "venv", join(folder, "env")]);
    const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", ...PYTHON_PACKAGES];
    execFileSync(join(folder, "env/bin/python"), pip);
  },
  command: (folder, port) => [
    join(folder, "env/bin/langgraph"),
    ...["dev", "--port", String(port), "--no-browser", "--no-reload"],
  ],
};
