// Writes of every kind until it is killed: `<place> <name>`. Says what it was told is stored, each on a line of its own.
import { writeSync } from "node:fs";
import { message, numbered } from "../../packages/conformance/src/samples.js";
import { SessionManager } from "../../packages/stemma/src/session.js";
import { Random } from "../tools/random.js";
import { openStore } from "../tools/stores.js";

const [place = "", name = ""] = process.argv.slice(2);
const random = new Random(Date.now());
const manager = SessionManager.create(openStore(place)).withContext("memory");
const say = (stored: object) => writeSync(1, `${JSON.stringify(stored)}\n`);

for (let index = 0; ; index += 1) {
  const id = `${name}-${index}`;
  const chat = `chat-${random.below(3)}`;
  const session = manager.getSession(chat);
  const kind = random.below(10);
  if (kind < 4) {
    await session.appendMessage(message(id));
    say({ chat, messages: [id] });
  } else if (kind < 6) {
    const ids = numbered(`${id}-batch-`, 5);
    await session.appendAll(ids.map((each) => message(each)));
    say({ chat, messages: ids });
  } else if (kind === 6) {
    await session.appendContextBlock("memory", id);
    say({ chat, block: id });
  } else if (kind === 7) {
    const path = await session.getHistory();
    const [first, last] = [path.at(-6)?.id, path.at(-2)?.id];
    if (first === undefined || last === undefined) continue;
    const { id: compaction } = await session.addCompaction(`summary of ${id}`, first, last);
    say({ chat, compaction });
  } else if (kind === 8) {
    const leaf = await session.getLatestLeaf();
    if (leaf === null) continue;
    await manager.fork(chat, leaf.id, id, { id });
    say({ chat: id, messages: [leaf.id] });
  } else {
    await session.appendMessage(message(id), null);
    say({ chat, messages: [id] });
  }
}
