import { HumanMessage } from "@langchain/core/messages";
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import pg from "pg";
import { expect, it } from "vitest";
import { postgres } from "../../../packages/postgres/src/postgres.js";
import { StemmaSaver } from "../../../packages/stemma/src/langgraph.js";
import { describeServer } from "../../postgres/server.js";

describeServer("on Postgres", (server) => {
  it("a step is seven statements, however long the thread is", async () => {
    const pool = new pg.Pool({ connectionString: server.url });
    let statements = 0;
    pool.on("connect", (client) => {
      const query = client.query.bind(client) as (...args: unknown[]) => unknown;
      client.query = ((...args: unknown[]) => {
        // The pool itself calls with a function.
        if (typeof args.at(-1) !== "function" || typeof args[0] === "object") statements += 1;
        return query(...args);
      }) as never;
    });
    const saver = new StemmaSaver(postgres(pool));
    let config: object = { configurable: { thread_id: "t", checkpoint_ns: "" } };
    let messages: HumanMessage[] = [];
    const step = async (number: number): Promise<number> => {
      const before = statements;
      const message = new HumanMessage({
        id: `m${number}`,
        content: `message ${number} ${"of some words ".repeat(12)}`,
      });
      await saver.putWrites(
        number === 0 ? { configurable: { thread_id: "t", checkpoint_id: "none" } } : config,
        [["messages", [message]]],
        `task-${number}`,
      );
      messages = [...messages, message].slice(-20);
      const versions = { messages: number + 1 };
      const checkpoint = {
        ...emptyCheckpoint(),
        id: uuid6(number),
        channel_values: { messages },
        channel_versions: versions,
      };
      config = await saver.put(config, checkpoint, { source: "loop", step: number, parents: {} }, versions);
      return statements - before;
    };
    const counts: number[] = [];
    for (let number = 0; number < 200; number += 1) counts.push(await step(number));
    const average = (some: readonly number[]) => some.reduce((sum, count) => sum + count, 0) / some.length;
    expect(average(counts.slice(20, 70))).toBeCloseTo(7, 0);
    expect(average(counts.slice(150))).toBeCloseTo(7, 0);
    await pool.end();
  });
});
