import type { ContextConfig } from "@stemma/session";
import { searchableHistory } from "@stemma/session";
import { FileSkillProvider } from "@stemma/session/skills-node";
import type { Store } from "@stemma/store";

const SOUL = `You are a helpful assistant in a terminal. Answer briefly, in plain text or simple Markdown.
Keep what you learn about the user and their work in the MEMORY block, with set_context, as short lines; correct what has changed.
Search past conversations before you say that you do not know something.`;

/** Tells what is wrong with the skills of a folder. */
export async function checkSkills(folder: string, tell: (problem: string) => void): Promise<void> {
  await new FileSkillProvider(folder, { onProblem: ({ path, message }) => tell(`${path}: ${message}`) }).get();
}

/**
 * Makes the blocks of a conversation in the chat. `skills` is a folder of skills, or null; problems of skills are not reported,
 * since each conversation has blocks of its own.
 */
export function chatBlocks(store: Store, skills: string | null): ContextConfig[] {
  const soul: ContextConfig = { label: "soul", description: "Who you are", provider: { get: () => SOUL } };
  const memory: ContextConfig = {
    label: "memory",
    description: "What you know about the user, in all conversations",
    maxTokens: 2000,
    scope: "user",
    whenChanged: "remind",
  };
  const history: ContextConfig = {
    label: "history",
    description: "Past conversations",
    provider: searchableHistory(store),
  };
  const blocks = [soul, memory, history];
  if (skills === null) return blocks;
  const provider = new FileSkillProvider(skills, { onProblem: () => {} });
  return [...blocks, { label: "skills", description: "Instructions to load when they are needed", provider }];
}
