import { createLoadFinder, type LoadFinder, recordLoad, recordUnload } from "../model/skill-view.js";
import type { Store } from "../storage/contract.js";
import type { SkillLog } from "../tools/access.js";

/** Keeps in the store which skills a session loaded and unloaded, so that a restart sees the same history. */
export function storeSkillLog(store: Store, sessionId: string): SkillLog {
  const unload = async (label: string, key: string, calls: readonly (string | null)[]): Promise<boolean> => {
    let unloaded = false;
    await store.sessions.updateSkills(sessionId, (state, newest) => {
      const loaded = calls.reduce((before, id) => recordLoad(before, label, key, id ?? undefined), state);
      const next = recordUnload(loaded, label, key, newest);
      unloaded = next !== null;
      return next ?? state;
    });
    return unloaded;
  };
  const loadsInMessages = async (): Promise<LoadFinder> => {
    const finder = createLoadFinder();
    const messages = store.history.stream(sessionId, { newestFirst: true, onCorrupt: () => {} });
    for await (const message of messages) finder.look(message);
    return finder;
  };
  return {
    load: async (label, key, toolCallId) => {
      await store.sessions.updateSkills(sessionId, (state) => recordLoad(state, label, key, toolCallId));
    },
    loaded: async () => {
      const { loaded } = await store.sessions.skills(sessionId);
      const { loads } = await loadsInMessages();
      const recorded = new Set(loaded.map(keyOf));
      return [...loads.filter((load) => !recorded.has(keyOf(load))).reverse(), ...loaded];
    },
    unload: async (label, key) => {
      if (await unload(label, key, [])) return true;
      // Nobody recorded the loads of an upgraded or imported session, but its messages hold them.
      const calls = (await loadsInMessages()).callsOf(label, key);
      return calls.length > 0 && unload(label, key, calls);
    },
  };
}

// Labels are unique without regard to case.
const keyOf = ({ label, key }: { label: string; key: string }): string => `${label.toUpperCase()}\0${key}`;
