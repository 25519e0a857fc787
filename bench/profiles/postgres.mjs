import { barePostgres, stemmaPostgres } from "../candidates/postgres.mjs";
import { fillDataset, MAIN } from "../datasets.mjs";
import { startServer } from "../postgres-server.mjs";
import { spread } from "../runner.mjs";
import { encodeMessage, joinedTerms } from "../stemma-internals.mjs";
import { printTime } from "./print.mjs";

const FILLED = 10_000;
const ROUNDS = 20;
const AT_ONCE = 200;

const INSERT = `INSERT INTO assistant_messages (session_id, id, parent_id, role, content, text_content)
                VALUES ('${MAIN}', m.id, 'parent', m.role, m.content, m.text)`;
const APPEND = `PERFORM assistant_append('${MAIN}', NULL, now(), 'leaf', NULL, m.id, m.role, m.content, m.text, 10, NULL, m.length, m.terms, NULL)`;

/** An append in the server alone, in a loop there; and as a client waits for it. Beside a bare insert. */
export async function profilePostgres({ datasets }) {
  const server = await startServer();
  const opened = [];
  try {
    const times = { inserted: [], appended: [], bare: [], stemma: [], nothing: [], prepared: [] };
    const open = async (candidate) => {
      const one = await candidate.open(server.port);
      opened.push(one);
      await fillDataset(candidate.name, one, datasets.conversation(FILLED));
      await one.analyze();
      return one;
    };
    const bare = await open(barePostgres);
    const ours = await open(stemmaPostgres);
    const batches = datasets.batches(AT_ONCE);
    for (let round = 0; round < ROUNDS; round += 1) {
      const messages = batches.batch(round);
      const wait = async (list, work) => {
        const start = performance.now();
        await work();
        list.push((performance.now() - start) / AT_ONCE);
      };
      await wait(times.bare, () => bare.appendEach(MAIN, messages));
      await wait(times.stemma, () => ours.appendEach(MAIN, messages));
      await give(bare.client, messages, "");
      await wait(times.inserted, () => bare.client.query(loop(INSERT)));
      await give(ours.client, messages, WITH_TERMS);
      await wait(times.appended, () => ours.client.query(loop(APPEND)));
      await wait(times.nothing, async () => {
        for (let call = 0; call < AT_ONCE; call += 1) await ours.client.query("SELECT 1");
      });
      await wait(times.prepared, async () => {
        for (const message of messages) prepareRow(message);
      });
    }
    console.log("An append on Postgres, and a bare insert into the documented table");
    printTime("insert, in the server", spread(times.inserted).median);
    printTime("append, in the server", spread(times.appended).median);
    printTime("a round trip that does nothing", spread(times.nothing).median);
    printTime("what a process does for an append: JSON, tokens, the terms of the index", spread(times.prepared).median);
    printTime("insert, as its client waits for it", spread(times.bare).median);
    printTime("append, as its client waits for it", spread(times.stemma).median);
  } finally {
    for (const one of opened) await one.close();
    await server.stop();
  }
}

const WITH_TERMS =
  ", (SELECT length FROM assistant_fts WHERE n = m.n), (SELECT array_to_string(terms, ' ') FROM assistant_fts WHERE n = m.n) AS terms";

function prepareRow(message) {
  return joinedTerms(encodeMessage(message).document);
}

// Copies of messages that were just written, for a loop in the server.
async function give(client, messages, more) {
  await client.query("DROP TABLE IF EXISTS given");
  await client.query(
    `CREATE TEMP TABLE given AS SELECT id || '-again' AS id, role, content, text_content AS text${more}
     FROM assistant_messages m WHERE session_id = '${MAIN}' AND id = ANY ('{${messages.map(({ id }) => id).join(",")}}')`,
  );
}

const loop = (statement) =>
  `DO $$ DECLARE m RECORD; BEGIN FOR m IN SELECT * FROM given LOOP ${statement}; END LOOP; END $$`;
