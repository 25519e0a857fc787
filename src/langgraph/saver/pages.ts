import type { ListRecordsOptions, RecordScope, RecordStore, StoredRecord } from "../../storage/contract.js";

const PAGE = 100;

/** All records of a scope, or those that the options name, page by page. */
export async function* allRecords(
  records: RecordStore,
  scope: RecordScope,
  options: Omit<ListRecordsOptions, "limit">,
  pageSize: number = PAGE,
): AsyncGenerator<StoredRecord> {
  for (let after = options.after; ; ) {
    const page = await records.list(scope, { ...options, after, limit: pageSize });
    yield* page;
    if (page.length < pageSize) return;
    after = page.at(-1)?.key;
  }
}
