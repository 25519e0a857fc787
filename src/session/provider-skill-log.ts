import { encodeMessage } from "../model/codec.js";
import { isSummaryMessage, type SessionMessage } from "../model/message.js";
import { createLoadFinder, hideUnloaded, type LoadFinder, recordLoad, recordUnload } from "../model/skill-view.js";
import { NO_SKILLS, type SkillState } from "../model/skills.js";
import { queueOf } from "../queue.js";
import type { SkillLog } from "../tools/access.js";
import type { SessionBackend, SessionProvider } from "./provider.js";

/**
 * The skills of a session on a provider that a user wrote, which has no place for them but its messages: those tell what is
 * loaded, and an unload empties the results there. Calls whose results are not stored yet are remembered until they are.
 */
export interface ProviderSkillLog extends SkillLog {
  /** The backend whose writes are emptied of what was unloaded before. */
  over(backend: SessionBackend): SessionBackend;
}

export function providerSkillLog(provider: SessionProvider): ProviderSkillLog {
  let state: SkillState = NO_SKILLS;
  const emptied = (message: SessionMessage): SessionMessage => {
    if (state.unloaded.length === 0) return message;
    // What is no message is refused before it is looked into.
    encodeMessage(message);
    return hideUnloaded(message, null, state);
  };
  return {
    load: async (label, key, toolCallId) => {
      state = recordLoad(state, label, key, toolCallId);
    },
    loaded: () => queueOf(provider).read("", async () => [...loadsIn(await provider.getHistory()).loads].reverse()),
    unload: (label, key) =>
      queueOf(provider).write("", async () => {
        const path = [...(await provider.getHistory())];
        const loaded = loadsIn(path)
          .callsOf(label, key)
          .reduce((before, id) => recordLoad(before, label, key, id ?? undefined), state);
        const next = recordUnload(loaded, label, key, 0);
        if (next === null) return false;
        const unloaded = { loaded: [], unloaded: next.unloaded.slice(-1) };
        for (const message of path) {
          const shorter = isSummaryMessage(message) ? message : hideUnloaded(message, 0, unloaded);
          if (shorter !== message) await provider.updateMessage(shorter);
        }
        state = next;
        return true;
      }),
    over: (backend) => ({
      ...backend,
      append: async (messages, parentId) => backend.append(messages.map(emptied), parentId),
      upsert: async (message, parentId) => backend.upsert(emptied(message), parentId),
      update: async (message) => backend.update(emptied(message)),
      clear: async () => {
        const dropped = await backend.clear();
        state = NO_SKILLS;
        return dropped;
      },
    }),
  };
}

function loadsIn(path: readonly SessionMessage[]): LoadFinder {
  const finder = createLoadFinder();
  for (const message of [...path].reverse()) finder.look(message);
  return finder;
}
