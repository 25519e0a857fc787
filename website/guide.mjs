/** The sidebar of the guide. A test holds it against the pages of `docs/`. */
export const GUIDE = [
  {
    text: "Start",
    items: [
      { text: "Getting started", link: "/getting-started" },
      { text: "Which entry do I need", link: "/entry-points" },
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
      { text: "Privacy", link: "/privacy" },
      { text: "Search", link: "/search" },
      { text: "Embeddings", link: "/embeddings" },
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
      { text: "OpenAI Agents SDK", link: "/openai-agents" },
      { text: "LangGraph", link: "/langgraph" },
      { text: "LangChain", link: "/langchain" },
    ],
  },
  {
    text: "Stores",
    items: [
      { text: "SQLite", link: "/stores/sqlite" },
      { text: "Postgres", link: "/stores/postgres" },
      { text: "Durable Objects", link: "/stores/durable-object" },
      { text: "Memory", link: "/stores/memory" },
      { text: "Scaling", link: "/scaling" },
      { text: "Checking and repairing", link: "/stores/checking" },
      { text: "Backups and copies", link: "/keeping" },
      { text: "Write your own", link: "/stores/writing-a-store" },
    ],
  },
  {
    text: "Background",
    items: [
      { text: "What is promised", link: "/promises" },
      { text: "Reliability", link: "/reliability" },
      { text: "Comparison", link: "/comparison" },
      { text: "Benchmark", link: "/benchmark" },
      { text: "Upgrading from agents", link: "/upgrading-from-agents" },
      { text: "Decisions", link: "/decisions" },
      { text: "How it is built", link: "/architecture" },
      { text: "Contributing", link: "/contributing" },
    ],
  },
];
