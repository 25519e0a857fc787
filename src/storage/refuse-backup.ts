import { StemmaError } from "../errors.js";
import type { Store } from "./contract.js";

/** `Store.backup` of a store without a file of its own. */
export function refuseBackup(name: string): Store["backup"] {
  return async () => {
    const message = `A ${name} store is no file. Copy it with copyStore() of stemma/copy or \`stemma copy\`, or with the tools of its database, such as pg_dump.`;
    throw new StemmaError("STORE_UNSUPPORTED", { store: name }, message);
  };
}
