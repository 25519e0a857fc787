import { AgentSearchProvider, createLearnFunction, SessionManager } from "stemma";
import { sqlite } from "stemma/sqlite";
import { createCompactFunction } from "stemma/utils/compaction-helpers";
import type { ChatModel } from "./model";

const SOUL = `You are a helpful assistant in a web chat. Answer in Markdown.
What users say about themselves is noted after each of your answers, and quoted to you where it matters: you need not note it yourself.
Search the memory and past conversations before you say that you do not know something.`;

/** So many estimated tokens may a chat have before its older messages are summarised for the model. */
const COMPACT_AFTER = Number(process.env.COMPACT_AFTER || 30_000);

export type Chats = ReturnType<typeof openChats>;

/** The chats of all users, in one SQLite file. */
export function openChats(path: string, model: ChatModel) {
  const store = sqlite(path);
  const summarize = async (prompt: string) => model.summarize(prompt);
  const compact = createCompactFunction({ summarize, protectHead: 0, tailTokenBudget: Math.round(COMPACT_AFTER / 5) });
  const manager = SessionManager.create(store)
    .withContext("soul", { provider: { get: () => SOUL } })
    .withContext("memory", {
      description: "Facts about the user, in all chats",
      maxTokens: 200,
      provider: new AgentSearchProvider(store, { scope: "user" }),
    })
    .withSearchableHistory("history")
    // The chat handler learns after each answer.
    .onLearning(createLearnFunction({ extract: model.extract }), { idleAfter: Infinity })
    .withTitles(model.title)
    .withCachedPrompt()
    .onCompaction(compact)
    .compactAfter(COMPACT_AFTER)
    .onCompactionError((error) => console.error("A chat was not summarised:", error));
  // Who asks for a summary wants to see one.
  const compactNow = createCompactFunction({ summarize, protectHead: 0, tailTokenBudget: 0, minTailMessages: 2 });
  return { store, manager, compactNow };
}
