import type { Compaction, Message } from "../api.js";
import type { ReadInit, WriteInit } from "../client-options.js";
import type { Pages } from "../pages.js";
import { type Answer, type Body, Resource, SESSION } from "./resource.js";

const ALL = `${SESSION}/compactions` as const;

/** The summaries of sessions. */
export class Compactions extends Resource {
  /** Lists the summaries. */
  list(session: string, init?: ReadInit): Pages<Compaction> {
    return this.pages(`GET ${ALL}`, [session], init);
  }

  /** Lays a summary over a range of messages. Errors: `COMPACTION_INVALID_RANGE`. */
  create(session: string, compaction: Body<`POST ${typeof ALL}`>, init?: WriteInit): Promise<Compaction> {
    return this.call(`POST ${ALL}`, [session], init, compaction);
  }

  /** Compacts the history with the server's function; null where there was nothing to compact. */
  compact(session: string, init?: WriteInit): Promise<Answer<`POST ${typeof SESSION}/compact`>> {
    return this.call(`POST ${SESSION}/compact`, [session], init);
  }

  /** Removes a summary; the messages that it covered show again. */
  delete(session: string, compaction: string, init?: WriteInit): Promise<undefined> {
    return this.call(`DELETE ${ALL}/{compaction}`, [session, compaction], init);
  }

  /** Reads the messages under a summary. */
  originals(session: string, compaction: string, init?: ReadInit): Pages<Message> {
    return this.pages(`GET ${ALL}/{compaction}/originals`, [session, compaction], init);
  }
}
