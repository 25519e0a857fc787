// Puts checkpoints, each with one more message, and prints the number of each once it is stored with a write to it.
import { writeSync } from "node:fs";
import { HumanMessage } from "@langchain/core/messages";
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { StemmaSaver } from "stemma/langgraph";
import { sqlite } from "stemma/sqlite";

const saver = new StemmaSaver(sqlite(process.argv[2] as string));
const config = { configurable: { thread_id: "t" } };
const latest = await saver.getTuple(config);
const messages = [...((latest?.checkpoint.channel_values.messages as HumanMessage[] | undefined) ?? [])];
for (let parent: object = latest?.config ?? config; ; ) {
  const number = messages.length + 1;
  messages.push(new HumanMessage({ id: `m${number}`, content: `message ${number}` }));
  const versions = { messages: number };
  const checkpoint = {
    ...emptyCheckpoint(),
    id: uuid6(number),
    channel_values: { messages },
    channel_versions: versions,
  };
  parent = await saver.put(parent, checkpoint, { source: "loop", step: number, parents: {} }, versions);
  await saver.putWrites(parent, [["messages", [`write ${number}`]]], "task");
  writeSync(1, `${number}\n`);
}
