import { foldLabel } from "../model/fold-label.js";
import { createLoadFinder, type LoadFinder } from "../model/load-finder.js";
import type { SessionStore } from "../storage/contract.js";
import type { SkillLog } from "../tools/access.js";

/** Keeps in the store which skills a session loaded and unloaded, so that a restart sees the same history. */
export function storeSkillLog(session: SessionStore): SkillLog {
  const loadsInMessages = async (): Promise<LoadFinder> => {
    const messages = session.stream({ newestFirst: true, onCorrupt: "skip" });
    const finder = createLoadFinder();
    for await (const message of messages) finder.look(message);
    return finder;
  };
  return {
    load: async (label, key, toolCallId) => {
      await session.changeSkills({ type: "load", label, key, toolCallId });
    },
    loaded: async () => {
      const { loaded } = await session.skills();
      const { loads } = await loadsInMessages();
      const recorded = new Set(loaded.map(keyOf));
      return [...loads.filter((load) => !recorded.has(keyOf(load))).reverse(), ...loaded];
    },
    unload: async (label, key) => {
      if (await session.changeSkills({ type: "unload", label, key })) return true;
      // Nobody recorded the loads of an upgraded or imported session, but its messages hold them.
      const toolCallIds = (await loadsInMessages()).callsOf(label, key);
      return toolCallIds.length > 0 && session.changeSkills({ type: "unload", label, key, toolCallIds });
    },
  };
}

// Labels are unique without regard to case.
const keyOf = ({ label, key }: { label: string; key: string }): string => `${foldLabel(label)}\0${key}`;
