import { queueOf } from "../queue.js";
import type { Store } from "./contract.js";
import type { Connection } from "./engine/connection.js";
import { via } from "./hand-over.js";
import { lateStore, type StoreTraits } from "./late-store.js";
import { LoadedLater } from "./loaded-later.js";
import { type SqlHost, transactionOf } from "./sqlite/sql-host.js";

type Engine = typeof import("./sqlite/agent-sql.js");

// One for all agents: several objects may stand for one database, and calls on them stay in order too.
const engine = new LoadedLater<Engine>(() => import("./sqlite/agent-sql.js"));

/**
 * A store on an agent's own database. Without `transactionSync` on the agent, each statement is atomic by itself only. The
 * engine is loaded with the first call: a program whose store comes with one never needs it.
 */
export function agentStore(host: SqlHost, code: LoadedLater<Engine> = engine): Store {
  let opened: Store | undefined;
  const wraps: (<C extends Connection>(connection: C) => C)[] = [];
  const open = ({ openAgentStore }: Engine): Store => {
    opened = openAgentStore(host);
    for (const wrap of wraps) opened.observeStatements?.(wrap);
    return opened;
  };
  const traits: StoreTraits = {
    name: "agent",
    capabilities: {
      search: true,
      embeddings: false,
      durable: true,
      transactions: transactionOf(host) !== null,
      check: false,
    },
    order: queueOf(host),
    observeStatements: (wrap) => {
      if (opened === undefined) wraps.push(wrap);
      else opened.observeStatements?.(wrap);
    },
  };
  return lateStore(traits, via(code.call, open));
}
