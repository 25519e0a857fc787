import { recordLoad, recordUnload } from "../model/skill-view.js";
import type { Store } from "../storage/contract.js";
import type { SkillLog } from "../tools/access.js";

/** Keeps in the store which skills a session loaded and unloaded, so that a restart sees the same history. */
export function storeSkillLog(store: Store, sessionId: string): SkillLog {
  return {
    load: async (label, key, toolCallId) => {
      await store.sessions.updateSkills(sessionId, (state) => recordLoad(state, label, key, toolCallId));
    },
    loaded: async () => (await store.sessions.skills(sessionId)).loaded,
    unload: async (label, key) => {
      let unloaded = false;
      await store.sessions.updateSkills(sessionId, (state, newest) => {
        const next = recordUnload(state, label, key, newest);
        unloaded = next !== null;
        return next ?? state;
      });
      return unloaded;
    },
  };
}
