import { expect, it } from "vitest";
import { claudeSessionStore } from "../../../packages/stemma/src/claude.js";
import { memory } from "../../../packages/store/src/memory.js";
import { readKept } from "../../../packages/store/src/sql/kept-items.js";
import { turn } from "../../claude/transcripts.js";
import { occurrences, redact, TOLD, textOfRows } from "../../redact/canary.js";

it("keeps the transcripts of Claude's SDK without the secret, and gives them back so", async () => {
  const store = memory({ redact });
  const sessions = claudeSessionStore(store);
  const key = { projectKey: "p", sessionId: crypto.randomUUID() };
  const all = turn(key.sessionId, TOLD);
  const entries = (Array.isArray(all) ? all : Object.values(all)).flat();
  const title = { type: "custom-title", customTitle: TOLD, sessionId: key.sessionId, uuid: crypto.randomUUID() };
  await sessions.append(key, [...entries, title] as never[]);
  const loaded = (await sessions.load(key)) as unknown as { uuid: string }[];
  expect(loaded.map(({ uuid }) => uuid)).toEqual([...entries, title].map(({ uuid }) => uuid));
  expect(JSON.stringify(loaded)).toContain(redact(TOLD));
  const [session] = (await store.sessions.list({})).sessions;
  const id = session?.id as string;
  const kept: unknown[] = [loaded, session, (await store.session(id).path()).messages];
  for await (const item of readKept(store, { sessionId: id })) kept.push(item);
  expect(occurrences(textOfRows(kept))).toBe(0);
  await store.close();
});
