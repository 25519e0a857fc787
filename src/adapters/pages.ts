import type { ListRecordsOptions } from "../storage/contract.js";

const PAGE = 100;

/** All records or entries of a scope, or those that the options name, page by page. */
export async function* allPages<Scope, Item extends { readonly key: string }>(
  store: { list(scope: Scope, options: ListRecordsOptions): Promise<readonly Item[]> },
  scope: Scope,
  options: Omit<ListRecordsOptions, "limit">,
  pageSize: number = PAGE,
): AsyncGenerator<Item> {
  for (let after = options.after; ; ) {
    const page = await store.list(scope, { ...options, after, limit: pageSize });
    yield* page;
    if (page.length < pageSize) return;
    after = page.at(-1)?.key;
  }
}
