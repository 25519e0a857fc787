import { invalid, StemmaError } from "@stemma/model";
import { readDocument } from "./documents.js";
import { parseId } from "./fields.js";
import { findSession, type McpScope } from "./scope.js";
import { ABSENT } from "./tool.js";

/** How often what is watched is compared, in milliseconds. */
const INTERVAL = 1_000;
/** A pause is at least so many times as long as the look before it: servers of one process share its time. */
const PAUSE = 9;
const MAX_WATCHED = 1_000;

/** Tells of resources that another process, or this one, wrote to. It looks while something is watched. */
export interface ResourceWatcher {
  /** Tells of each change from now on. What is not there may come. Errors: `INVALID_ARGUMENT` for what can be no resource, or for the 1,001st one. */
  watch(uri: string): Promise<void>;
  unwatch(uri: string): void;
  clear(): void;
}

/** A watcher that calls `changed` with the address of what was written to. */
export function createWatcher(scope: McpScope, changed: (uri: string) => void): ResourceWatcher {
  const known = new Map<string, string>();
  let timer: ReturnType<typeof setTimeout> | null = null;
  const look = async () => {
    for (const [uri, before] of [...known]) {
      try {
        const state = await stateOf(scope, uri);
        if (state === before || known.get(uri) !== before) continue;
        known.set(uri, state);
        changed(uri);
      } catch (error) {
        scope.onError(error);
      }
    }
  };
  const schedule = (interval = INTERVAL) => {
    if (timer !== null || known.size === 0) return;
    timer = setTimeout(() => {
      const began = performance.now();
      void look().finally(() => {
        timer = null;
        schedule(Math.max(INTERVAL, PAUSE * (performance.now() - began)));
      });
    }, interval);
    timer.unref?.();
  };
  return {
    watch: async (uri) => {
      if (known.size >= MAX_WATCHED && !known.has(uri)) {
        throw invalid(`More than ${MAX_WATCHED} resources cannot be watched.`);
      }
      const state = await stateOf(scope, uri);
      if (!known.has(uri)) known.set(uri, state);
      schedule();
    },
    unwatch: (uri) => {
      known.delete(uri);
    },
    clear: () => known.clear(),
  };
}

/** A text that is another one after each change of a resource; "" where it is not there. */
async function stateOf(scope: McpScope, uri: string): Promise<string> {
  const ref = parseId(uri);
  try {
    if (ref.kind === "session") {
      await findSession(scope, ref.session);
      return await scope.store.session(ref.session).change();
    }
    const { text, metadata } = await readDocument(scope, ref);
    return `${metadata.time} ${text}`;
  } catch (error) {
    if (StemmaError.isInstance(error) && ABSENT.includes(error.code)) return "";
    throw error;
  }
}
