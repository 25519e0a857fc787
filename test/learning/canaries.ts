// Whatever may hold text of a person, with a word in it that stands nowhere else.
import { AgentSearchProvider, SessionManager } from "../../packages/stemma/src/session.js";
import type { Store } from "../../packages/store/src/contract/store.js";

/** Whose text there is: of two users, of nobody, and of what is kept under a key. */
export const OWNERS = ["ada", "bob", "nobody", "team"] as const;
export type Owner = (typeof OWNERS)[number];

/** A word that stands in one place of one owner. */
export const canary = (owner: Owner, place: string): string => `qz${owner}${place}`;

/** What all owners speak of, so that a question about it could find any of it. */
export const QUESTION = "Which telescope do you remember for the garden?";
const about = (owner: Owner, place: string) => `The telescope in the garden is called ${canary(owner, place)}.`;

/** The owners of the canaries in what was shown. */
export function ownersIn(shown: unknown): Owner[] {
  const text = (typeof shown === "string" ? shown : JSON.stringify(shown, withErrors)) ?? "";
  return OWNERS.filter((owner) => text.includes(canary(owner, "")));
}

const withErrors = (_: string, value: unknown) =>
  value instanceof Error ? { ...value, text: `${value}`, stack: value.stack, cause: value.cause } : value;

export const chatOf = (owner: Owner) => `chat of ${owner}`;

/** The store that an owner's texts are written with. */
export const storeOf = (store: Store, owner: Owner): Store =>
  owner === "ada" || owner === "bob" ? store.forUser(owner) : store;

/** A manager with a block of each kind; each user has the same labels and keys. */
export function managerOf(store: Store): SessionManager {
  return SessionManager.create(store)
    .withContext("memory", { scope: "user" })
    .withContext("facts", { provider: new AgentSearchProvider(store, { scope: "user" }) })
    .withContext("notes")
    .withContext("papers", { provider: new AgentSearchProvider(store) })
    .withExpandableSummaries();
}

/** Puts a canary into each place that an owner has. */
export async function plant(everything: Store, owner: Owner): Promise<void> {
  const store = storeOf(everything, owner);
  const text = (place: string) => about(owner, place);
  const isUser = store !== everything;
  if (owner !== "team") {
    const session = SessionManager.create(store).getSession(chatOf(owner)).withContext("notes");
    const part = (place: string) => ({ type: "text", text: text(place) });
    await session.appendAll([
      { id: "u0", role: "user", parts: [part("covered")] },
      { id: "a0", role: "assistant", parts: [part("answer")] },
      { id: "u1", role: "user", parts: [part("message")] },
      {
        id: "a1",
        role: "assistant",
        parts: [
          part("branch"),
          {
            type: "tool-look",
            toolCallId: "c1",
            state: "output-available",
            input: { q: text("toolinput") },
            output: text("tooloutput"),
          },
        ],
      },
    ]);
    await session.addCompaction(text("summary"), "u0", "a0");
    await session.editMessage("u1", { id: "u1b", role: "user", parts: [part("edited")] });
    await session.replaceContextBlock("notes", text("noteversion"));
    await session.replaceContextBlock("notes", text("note"));
    await store.entries.set({ sessionId: chatOf(owner), label: "papers" }, { key: "paper", content: text("paper") });
    await store.sessions.update(chatOf(owner), { name: text("name"), metadata: { topic: text("metadata") } });
  }
  if (!isUser && owner !== "team") return;
  const scope = isUser ? "user" : { key: "team" };
  const facts = { sessionId: "", label: "facts", scope } as const;
  const set = (key: string, place: string, more = {}) =>
    store.entries.set(facts, { key, content: text(place), ...more });
  await set("held", "factversion");
  await set("held", "fact", { tags: [canary(owner, "tag"), "subject:home"], value: { of: canary(owner, "value") } });
  await set("ended", "ended", { validFrom: "2020-01-01", validTo: "2021-01-01" });
  await set("closed", "closed", { validFrom: "2020-01-01" });
  await set("closing", "closing", { validFrom: "2022-01-01", supersedes: ["closed"] });
  await set("expired", "expired", { expiresAt: "2021-01-01" });
  await set("later", "later", { validFrom: "2990-01-01" });
  await set(canary(owner, "key"), "ofkey");
  await set("forgotten", "forgotten");
  await store.entries.delete(facts, "forgotten");
  const block = { sessionId: "", kind: "block", label: "memory", scope } as const;
  await store.blocks.set(block, text("blockversion"));
  await store.blocks.set(block, text("block"));
}
