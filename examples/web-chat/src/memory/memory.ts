import type { ChatBlock, ChatBlockVersion, ChatMemory } from "stemma/ai-sdk";
import { factsIn, firstVersionWith } from "../../shared/facts";

/** A line of the memory block. */
export interface Fact {
  readonly text: string;
  /** The write that brought it; null when it is older than the versions that are kept. */
  readonly origin: ChatBlockVersion | null;
}

/** What is remembered of the user. */
export function memoryIn(memory: ChatMemory | undefined): ChatBlock | undefined {
  return memory?.blocks.find(({ label }) => label === "memory");
}

export function factsOf(block: ChatBlock | undefined): Fact[] {
  if (block === undefined) return [];
  return factsIn(block.content).map((text) => ({ text, origin: firstVersionWith(text, block.versions) }));
}
