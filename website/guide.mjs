/** The sidebar of the guide. A test holds it against the pages of `docs/`. */
export const GUIDE = [
  {
    text: "Start",
    items: [
      { text: "Getting started", link: "/getting-started" },
      { text: "Concepts", link: "/concepts" },
      { text: "Cookbook", link: "/cookbook" },
      { text: "Troubleshooting", link: "/troubleshooting" },
    ],
  },
  {
    text: "Sessions",
    items: [
      { text: "Sessions and messages", link: "/sessions" },
      { text: "Context and tools", link: "/context" },
      { text: "A turn", link: "/turns" },
      { text: "Learning", link: "/learning" },
      { text: "Compaction", link: "/compaction" },
      { text: "Session manager", link: "/session-manager" },
      { text: "Erasing and retention", link: "/erasing" },
      { text: "Privacy and encryption", link: "/privacy" },
      { text: "Search", link: "/search" },
      { text: "Errors", link: "/errors" },
    ],
  },
  {
    text: "Programs",
    items: [
      { text: "Chats with the AI SDK", link: "/ai-sdk" },
      { text: "React", link: "/react" },
      { text: "Session runner", link: "/agent" },
      { text: "Repairing messages", link: "/repairing-messages" },
      { text: "Command line", link: "/command-line" },
      { text: "Importing", link: "/importing" },
      { text: "Studio", link: "/studio" },
      { text: "MCP server", link: "/mcp" },
      { text: "Telemetry", link: "/telemetry" },
    ],
  },
  {
    text: "Other frameworks",
    items: [
      { text: "Adapters", link: "/adapters" },
      { text: "Claude", link: "/claude" },
      { text: "LangGraph", link: "/langgraph" },
    ],
  },
  {
    text: "Stores",
    items: [
      { text: "SQLite", link: "/stores/sqlite" },
      { text: "Postgres", link: "/stores/postgres" },
      { text: "Tenants on Postgres", link: "/stores/tenants" },
      { text: "Durable Objects", link: "/stores/durable-object" },
      { text: "Scaling", link: "/background/scaling" },
      { text: "Backups, copies and checks", link: "/keeping" },
      { text: "Write your own", link: "/stores/writing-a-store" },
    ],
  },
  {
    text: "Background",
    items: [
      { text: "What is promised", link: "/background/promises" },
      { text: "Reliability", link: "/background/reliability" },
      { text: "Comparison", link: "/background/comparison" },
      { text: "Benchmark", link: "/background/benchmark" },
      { text: "Upgrading from agents", link: "/upgrading-from-agents" },
      { text: "Decisions", link: "/background/decisions" },
      { text: "Data model", link: "/background/data-model" },
      { text: "Postgres at size", link: "/background/postgres" },
      { text: "Search by meaning, measured", link: "/background/embeddings" },
      { text: "How it is built", link: "/architecture" },
      { text: "Contributing", link: "/contributing" },
    ],
  },
];
