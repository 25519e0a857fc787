import type { Store } from "../../packages/store/src/contract/store.js";

export const say = (id: string, role: string, text: string, createdAt = "2026-11-20T10:00:00.000Z") => ({
  id,
  role,
  parts: [{ type: "text", text }],
  createdAt,
});

/** Sessions of two users and two projects, and one of nobody. What is written next is of a later millisecond. */
export async function fillStore(store: Store): Promise<void> {
  const sessions = [
    ["a1", "Tea of Ada", "ada", "garden"],
    ["a2", "Plans of Ada", "ada", "house"],
    ["b1", "Tea of Ben", "ben", "garden"],
    ["n1", "Nobody's tea", undefined, undefined],
  ] as const;
  for (const [id, name, userId, project] of sessions) {
    await store.sessions.create({ id, name, userId, metadata: project === undefined ? {} : { project } });
    await store
      .session(id)
      .append([
        say("m1", "user", `Which tea does ${name} like?`),
        say("m2", "assistant", `Green tea, says ${id}.`),
        say("m3", "user", `Then buy some for ${id}.`),
      ]);
  }
  // Of sessions that changed in the same one, the one that was registered later comes first.
  await new Promise((resolve) => setTimeout(resolve, 2));
}
