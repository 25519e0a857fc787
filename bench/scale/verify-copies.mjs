// What was copied inside the database is what appends would have left: a sample of copies is checked, read, searched and appended to.
import { SessionManager } from "../../packages/stemma/dist/session.js";
import { sessionOf } from "../postgres-size/corpus.mjs";
import { verify, verifyMessages } from "../verify.mjs";

const SAMPLE = 20;

/** `total` sessions, of which all from `count` on are copies. Throws where one is not what it should be. */
export async function verifyCopies(store, count, total) {
  const manager = SessionManager.create(store);
  const copies = Array.from({ length: SAMPLE }, (_, index) => count + Math.floor((index * (total - count)) / SAMPLE));
  for (const place of [...copies, total - 1]) {
    const id = `s${place}`;
    const messages = sessionOf(place % count);
    verifyMessages(id, await manager.getHistory(id), messages);
    const word = messages[5].parts[0].text.split(" ")[3];
    const hits = await manager.getSession(id).search(word);
    verify(
      hits.some((hit) => hit.id === "m5"),
      id,
      `a search for ${word} does not find its message.`,
    );
    const { ok, problems } = await store.check({ sessionId: id });
    verify(ok, id, JSON.stringify(problems));
  }
  const id = `s${copies[0]}`;
  const added = { ...sessionOf(0)[0], id: "appended" };
  await manager.append(id, added);
  verifyMessages(id, (await manager.getHistory(id)).slice(-1), [added]);
  const [newest] = (await manager.listPage({ limit: 20 })).sessions;
  verify(newest.id === id, id, "it was appended to, and is not the first of the list.");
  await manager.getSession(id).deleteMessages([added.id]);
  verify((await store.check({ sessionId: id })).ok, id, "it is damaged after an append and a delete.");
}
