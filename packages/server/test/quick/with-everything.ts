import { createCompactFunction } from "@stemma/model";
import type { SessionManager } from "@stemma/session";

/** Sessions on which all routes have something to do. */
export function withEverything(sessions: SessionManager): SessionManager {
  return sessions
    .withContext("memory")
    .withCachedPrompt()
    .onLearning(async () => [{ label: "memory", action: "add", content: "Likes tea.", messageIds: ["m1"] }])
    .onCompaction(createCompactFunction({ summarize: () => "A summary", minTailMessages: 1, protectHead: 0 }));
}
