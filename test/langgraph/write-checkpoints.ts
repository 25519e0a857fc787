import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { type BaseCheckpointSaver, emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";

/** A checkpoint that was acknowledged, with what it holds. */
export interface Acknowledged {
  readonly id: string;
  readonly messages: readonly (readonly [id: string, text: string])[];
  readonly written: string;
}

/** Names a checkpoint of the one thread, or its latest. */
export const config = (checkpoint_id?: string) => ({
  configurable: { thread_id: "t", checkpoint_ns: "", checkpoint_id },
});

/**
 * Puts checkpoints, each with one more message and a write to it. Every few steps it goes on from the latest checkpoint of
 * the thread, whoever put that, as a new run of a graph does.
 */
export async function writeCheckpoints(
  saver: BaseCheckpointSaver,
  { name, steps, acknowledge }: { name: string; steps: number; acknowledge: (one: Acknowledged) => void },
): Promise<void> {
  let parent = config();
  let messages: BaseMessage[] = [];
  let number = 0;
  for (let step = 0; step < steps; step += 1) {
    if (step % 5 === 0) {
      const latest = await saver.getTuple(config());
      messages = [...((latest?.checkpoint.channel_values.messages as BaseMessage[] | undefined) ?? [])];
      number = Number(latest?.checkpoint.channel_versions.messages ?? 0);
      parent = config(latest?.checkpoint.id);
    }
    number += 1;
    // Two writers that are asked the same give their messages the same id.
    const id = step % 7 === 3 ? `shared-${step}` : `${name}-${step}`;
    const text = `${name} says ${step}: ${"some words ".repeat(20)}`;
    messages = [
      ...messages,
      step % 2 === 0 ? new HumanMessage({ id, content: text }) : new AIMessage({ id, content: text }),
    ];
    const versions = { messages: number };
    const checkpoint = {
      ...emptyCheckpoint(),
      id: uuid6(step),
      channel_values: { messages },
      channel_versions: versions,
    };
    const put = await saver.put(parent, checkpoint, { source: "loop", step, parents: {} }, versions);
    parent = config(put.configurable?.checkpoint_id);
    await saver.putWrites(parent, [["messages", [`write of ${checkpoint.id}`]]], `task of ${name}`);
    acknowledge({
      id: checkpoint.id,
      messages: messages.map((message) => [String(message.id), message.text]),
      written: `write of ${checkpoint.id}`,
    });
  }
}
