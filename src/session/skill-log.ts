import { createLoadFinder, recordLoad, recordUnload } from "../model/skill-view.js";
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
  return {
    load: async (label, key, toolCallId) => {
      await store.sessions.updateSkills(sessionId, (state) => recordLoad(state, label, key, toolCallId));
    },
    unload: async (label, key) => {
      if (await unload(label, key, [])) return true;
      // Nobody recorded the loads of an upgraded or imported session, but its messages hold them.
      const loads = createLoadFinder(label, key);
      const messages = store.history.stream(sessionId, { newestFirst: true, onCorrupt: () => {} });
      for await (const message of messages) loads.look(message);
      return loads.calls.length > 0 && unload(label, key, loads.calls);
    },
  };
}
