import type { Store } from "../../storage/contract.js";

/** The names of sessions by their ids, of those that have one. */
export async function findNames(store: Store, ids: Iterable<string>): Promise<Map<string, string>> {
  const infos = await Promise.all([...new Set(ids)].map((id) => store.sessions.get(id)));
  return new Map(infos.flatMap((info) => (info === null || info.name === "" ? [] : [[info.id, info.name]])));
}
