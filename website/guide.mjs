/** The sidebar of the guide. A test holds it against the pages of `docs/`. */
export const GUIDE = [
  {
    text: "Start",
    items: [
      { text: "Getting started", link: "/getting-started" },
      { text: "Errors and troubleshooting", link: "/errors" },
    ],
  },
  {
    text: "Sessions",
    items: [
      { text: "Sessions and messages", link: "/sessions" },
      { text: "Context and tools", link: "/context" },
      { text: "Facts in time", link: "/facts" },
      { text: "A turn", link: "/turns" },
      { text: "Recall", link: "/recall" },
      { text: "Compaction", link: "/compaction" },
      { text: "Learning", link: "/learning" },
      { text: "Search", link: "/search" },
      { text: "Search with a model", link: "/search-models" },
      { text: "Evaluation", link: "/evaluation" },
      { text: "Local models", link: "/local-models" },
      { text: "Session manager", link: "/session-manager" },
      { text: "Privacy and erasing", link: "/privacy" },
    ],
  },
  {
    text: "Stores",
    items: [
      { text: "SQLite", link: "/stores/sqlite" },
      { text: "Postgres", link: "/stores/postgres" },
      { text: "Cloudflare", link: "/stores/cloudflare" },
      { text: "Copies, imports and checks", link: "/copies" },
      { text: "Write your own", link: "/stores/writing-a-store" },
    ],
  },
  {
    text: "Programs",
    items: [
      { text: "Chats with the AI SDK", link: "/ai-sdk" },
      { text: "Memory for a model", link: "/ai-sdk-middleware" },
      { text: "A memory that others reach", link: "/server" },
      { text: "Session runner", link: "/agent" },
      { text: "OpenAI Agents and Claude", link: "/adapters" },
      { text: "LangChain and LangGraph", link: "/langgraph" },
      { text: "Command line and MCP server", link: "/command-line" },
      { text: "Studio and telemetry", link: "/studio" },
    ],
  },
  {
    text: "Background",
    items: [
      { text: "What is promised", link: "/background/promises" },
      { text: "Reliability", link: "/background/reliability" },
      { text: "Scaling", link: "/background/scaling" },
      { text: "Benchmark", link: "/background/benchmark" },
      { text: "Postgres at size", link: "/background/postgres" },
      { text: "Search by meaning, measured", link: "/background/embeddings" },
      { text: "What providers refuse", link: "/background/repairs" },
      { text: "Comparison", link: "/background/comparison" },
      { text: "Differences from agents", link: "/background/differences-from-agents" },
      { text: "Decisions", link: "/background/decisions" },
      { text: "Data model", link: "/background/data-model" },
      { text: "How it is built", link: "/architecture" },
      { text: "Contributing", link: "/contributing" },
    ],
  },
];
