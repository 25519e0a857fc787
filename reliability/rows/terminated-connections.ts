import { message } from "../../packages/conformance/src/samples.js";
import { StemmaError } from "../../packages/model/src/errors.js";
import { Session } from "../../packages/stemma/src/session.js";
import type { Row } from "../tools/row.js";
import { query } from "../tools/stores.js";

const WRITERS = 5;

/** Five sessions are appended to while every connection to their database is ended again and again. */
export const terminatedConnections: Row = {
  number: 8,
  title: "{size} Postgres connections terminated amid appends",
  target: "0 lost, 0 double",
  sizes: { Postgres: [500, 50] },
  async run({ place, open, postgres, size }) {
    const url = await place();
    const store = open(url);
    await store.migrate();
    let terminated = 0;
    let calls = 0;
    let unknown = 0;
    const acknowledged = Array.from({ length: WRITERS }, () => [] as string[]);
    const write = async (ids: string[], writer: number) => {
      const session = Session.create(store).forSession(`s${writer}`);
      for (let index = 0; terminated < size; calls += 1) {
        const id = `m${index}`;
        try {
          await session.appendMessage(message(id));
          ids.push(id);
          index += 1;
        } catch (error) {
          // Its outcome is unknown: it is appended again under the same id.
          if (!StemmaError.isInstance(error) || error.code !== "CONNECTION_LOST") throw error;
          unknown += 1;
        }
      }
    };
    const terminate = async () => {
      const name = url.split("/").at(-1);
      for (let before = 0; terminated < size; before = calls) {
        while (calls === before) await new Promise((resolve) => setTimeout(resolve, 2));
        const ended = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`;
        terminated += (await query(postgres, ended)).length;
      }
    };
    await Promise.all([...acknowledged.map(write), terminate()]);
    let lost = 0;
    let double = 0;
    for (const [writer, ids] of acknowledged.entries()) {
      const stored = (await Session.create(store).forSession(`s${writer}`).getHistory()).map(({ id }) => id);
      lost += ids.filter((id) => !stored.includes(id)).length;
      double += stored.length - new Set(stored).size;
    }
    const count = acknowledged.flat().length;
    const figure = `${lost} lost, ${double} double, of ${count} appends amid ${terminated} terminations; ${unknown} said that they do not know`;
    return { figure, met: lost + double === 0 && terminated >= size };
  },
};
