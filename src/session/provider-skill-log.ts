import { createLoadFinder, type LoadFinder } from "../model/load-finder.js";
import { isSummaryMessage, type SessionMessage } from "../model/message.js";
import { hideUnloaded, recordLoad, recordUnload } from "../model/skill-view.js";
import { NO_SKILLS, type SkillState } from "../model/skills.js";
import { queueOf } from "../queue.js";
import type { SkillLog } from "../tools/access.js";
import type { SessionProvider } from "./provider.js";

/**
 * The skills of a session on a provider that a user wrote, which has no place for them but its messages: those tell what is
 * loaded, and an unload empties the results there. Calls whose results are not stored yet are remembered until they are.
 */
export interface ProviderSkillLog extends SkillLog {
  /** The message as it is to be stored: emptied of what was unloaded before. Called within a turn. */
  emptied(message: SessionMessage): SessionMessage;
  /** Forgets all of it, within the turn that removes the messages. */
  clear(): void;
}

// By what the objects for one session have in common.
const states = new WeakMap<object, SkillState>();

export function providerSkillLog(provider: SessionProvider): ProviderSkillLog {
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => queueOf(provider).write("", work);
  const current = (): SkillState => states.get(provider) ?? NO_SKILLS;
  return {
    load: (label, key, toolCallId) =>
      inTurn(async () => {
        states.set(provider, recordLoad(current(), label, key, toolCallId));
      }),
    loaded: () => queueOf(provider).read("", async () => [...loadsIn(await provider.getHistory()).loads].reverse()),
    unload: (label, key) =>
      inTurn(async () => {
        const path = [...(await provider.getHistory())];
        const loaded = loadsIn(path)
          .callsOf(label, key)
          .reduce((before, id) => recordLoad(before, label, key, id ?? undefined), current());
        const next = recordUnload(loaded, label, key, 0);
        if (next === null) return false;
        const unloaded = { loaded: [], unloaded: next.unloaded.slice(-1) };
        for (const message of path) {
          const shorter = isSummaryMessage(message) ? message : hideUnloaded(message, 0, unloaded);
          if (shorter !== message) await provider.updateMessage(shorter);
        }
        states.set(provider, next);
        return true;
      }),
    emptied: (message) => hideUnloaded(message, null, current()),
    clear: () => {
      states.delete(provider);
    },
  };
}

function loadsIn(path: readonly SessionMessage[]): LoadFinder {
  const finder = createLoadFinder();
  for (const message of [...path].reverse()) finder.look(message);
  return finder;
}
