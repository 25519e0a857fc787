import type { SessionMessage } from "./message.js";
import { isNote, isSame, LOAD_TOOL, skillOf, textIn } from "./skill-view.js";
import { readToolPart } from "./tool-parts.js";

/** Looks through messages, newest first, for the calls that loaded a document. */
export interface LoadFinder {
  look(message: SessionMessage): void;
  /** What is loaded, the latest load first; the id of each call, null for one without. */
  readonly loads: readonly {
    readonly label: string;
    readonly key: string;
    readonly calls: readonly (string | null)[];
  }[];
  /** The ids of the calls whose document is still to be read. */
  callsOf(label: string, key: string): readonly (string | null)[];
}

/** Tells what is loaded where nobody recorded it, as in the messages of an upgraded database. */
export function createLoadFinder(): LoadFinder {
  const loads: { label: string; key: string; calls: (string | null)[] }[] = [];
  // Results of calls that stand in a part before them.
  const results = new Map<string, string>();
  const look = ({ parts }: SessionMessage): void => {
    for (const part of parts.toReversed()) {
      const tool = readToolPart(part);
      if (tool === null || (tool.toolName ?? LOAD_TOOL) !== LOAD_TOOL) continue;
      const { toolCallId: id, input, output } = tool;
      const text = output === undefined || isNote(output) ? null : textIn(output);
      const named = skillOf(input);
      if (named === null) {
        if (text !== null && id !== null) results.set(id, text);
        continue;
      }
      const result = text ?? (id === null ? undefined : results.get(id));
      if (result === undefined || result === `Not found: ${named.key}`) continue;
      const load = loads.find((each) => isSame(each, named.label, named.key));
      if (load === undefined) loads.push({ ...named, calls: [id] });
      else load.calls.push(id);
    }
  };
  return {
    look,
    loads,
    callsOf: (label, key) => loads.find((each) => isSame(each, label, key))?.calls ?? [],
  };
}
