import type { ListRecordsOptions } from "../storage/contract.js";
import { listAll } from "../storage/list-all.js";

/** All records or entries of a scope, or those that the options name, page by page. */
export function allPages<Scope, Item extends { readonly key: string }>(
  store: { list(scope: Scope, options: ListRecordsOptions): Promise<readonly Item[]> },
  scope: Scope,
  options: Omit<ListRecordsOptions, "limit">,
  limit = 100,
): AsyncGenerator<Item> {
  const { after } = options;
  return listAll(
    (page) => store.list(scope, { ...options, ...page }),
    ({ key }) => key,
    { after, limit },
  );
}
