// An assistant that keeps what it learns in a memory block, in a SQLite file, and compacts long conversations.
// Each argument is a message; run it again to go on:
//
//   STEMMA_MODEL=claude-sonnet-5-5 ANTHROPIC_API_KEY=… node remembering-agent.mjs "I am called Ada" "What am I called?"
import { AgentContextProvider } from "stemma";
import { createSession, resumeSession, StemmaError } from "stemma/agent";
import { sqlite } from "stemma/sqlite";

const store = sqlite("assistant.db");

const options = {
  model: process.env.STEMMA_MODEL,
  baseURL: process.env.STEMMA_BASE_URL,
  sessionStorage: store,
  systemPrompt: "You are an assistant. Write what you learn about the user into the MEMORY block.",
  context: [
    {
      label: "memory",
      description: "What you know about the user",
      maxTokens: 1000,
      // One memory for all sessions on this store.
      provider: new AgentContextProvider(store, "memory", { shared: true }),
      // The prompt stays as it is, for the provider's cache; the model is told what has changed since.
      whenChanged: "remind",
    },
  ],
  compactAfter: 50_000,
  expandableSummaries: true,
  prices: { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 },
};

const session = await resumeSession("assistant", options).catch((error) => {
  if (!StemmaError.isInstance(error, "SESSION_NOT_FOUND")) throw error;
  return createSession({ ...options, id: "assistant" });
});

for (const message of process.argv.slice(2)) {
  console.log(`> ${message}`);
  await session.send(message);
  for await (const event of session.receive()) {
    if (event.type === "text") process.stdout.write(event.text);
    if (event.type === "error") console.error(event.error.message);
  }
  console.log();
}

await session.session.prepareTurn();
console.log("Memory:", session.session.getContextBlock("memory")?.content);
console.log("Usage:", session.getUsage());
await session.close();
await store.close();
