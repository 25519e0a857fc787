import { SessionManager } from "../../packages/session/src/manager/session-manager.js";
import type { Store } from "../../packages/store/src/contract/store.js";

/** A picture of one point. */
export const PICTURE =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** A sound of one sample. */
const SOUND = "data:audio/wav;base64,UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQIAAAAAAA==";

const text = (value: string) => [{ type: "text", text: value }];

/** A manager as a program configures it. */
export function sampleManager(store: Store): SessionManager {
  return SessionManager.create(store)
    .withContext("memory", { description: "Facts", maxTokens: 1000 })
    .withContext("profile", { scope: "user" })
    .withCachedPrompt()
    .onCompaction(async (messages) => {
      const ids = messages.map(({ id }) => id).filter((id) => !id.startsWith("compaction_"));
      return { summary: "In short.", fromMessageId: ids[0] ?? "", toMessageId: ids[1] ?? "" };
    });
}

/**
 * Fills a store: the session `trip` of ada with two branches (`m1 m2 m3 m4`, and `side` beside `m3`) and a summary over the
 * first two messages, `other` of bob, `nobodys`, and memory of ada and of the key `acme`.
 */
export async function fillSample(store: Store): Promise<void> {
  const manager = sampleManager(store);
  const ada = manager.forUser("ada");
  await ada.create("A trip", { id: "trip", model: "m-1" });
  await ada.appendAll("trip", [
    { id: "m1", role: "user", parts: text("Plan a trip to the zebra crossing") },
    {
      id: "m2",
      role: "assistant",
      metadata: {
        toolTimes: { c: { calledAt: "2026-11-22T10:00:00.000Z", answeredAt: "2026-11-22T10:00:01.240Z" } },
      },
      parts: [
        { type: "reasoning", text: "first think" },
        { type: "tool-book", toolCallId: "c", state: "output-available", input: { to: "Oslo" }, output: { ok: true } },
        { type: "file", mediaType: "image/png", url: PICTURE },
        {
          type: "file",
          mediaType: "image/svg+xml",
          url: "data:image/svg+xml,%3Csvg%20xmlns='http://www.w3.org/2000/svg'/%3E",
        },
        { type: "file", mediaType: "text/html", url: "data:text/html,<script>window.__xss=1</script>" },
        { type: "file", mediaType: "audio/wav", url: SOUND },
        ...text("Booked."),
      ],
    },
    { id: "m3", role: "user", parts: [{ type: "file", mediaType: "image/png", url: PICTURE }, ...text("Thanks")] },
  ]);
  await ada.getSession("trip").freezeSystemPrompt();
  await ada.getSession("trip").prepareTurn();
  await ada.append("trip", {
    id: "m4",
    role: "assistant",
    parts: text("You are welcome, zebra"),
    metadata: { interrupted: "aborted" },
  });
  await ada.append("trip", { id: "side", role: "user", parts: text("Cancel it") }, "m2");
  await ada.selectBranch("trip", "m4");
  await ada.addCompaction("trip", "A trip was booked.", "m1", "m2");
  await ada.addUsage("trip", 100, 20, 0.5);
  const memory = { sessionId: "trip", kind: "block", label: "memory" } as const;
  const origin = { author: "learning", sessionId: "trip", messageIds: ["m1"] } as const;
  await store.blocks.set(memory, "Likes zebras.", { origin });
  await store.blocks.set(memory, "Likes zebras and crossings.", { origin });
  const facts = { sessionId: "", label: "facts", scope: "user" } as const;
  await store.forUser("ada").entries.set(facts, { key: "home", content: "Oslo" }, { origin });
  await store.forUser("ada").entries.set(facts, { key: "home", content: "Lima" }, { origin });
  await store.forUser("ada").entries.set(facts, { key: "work", content: "Bergen" }, { origin });
  await store.blocks.set({ sessionId: "", kind: "block", label: "team", scope: { key: "acme" } }, "Ships on Fridays.");
  await manager.forUser("bob").append("other", { id: "b1", role: "user", parts: text("A secret of bob") });
  await manager.append("nobodys", { id: "n1", role: "user", parts: text("nobody's words") });
}
