import type { EntryList, MemoryOwner } from "../../api.js";
import { ownerQuery, read } from "../api-client.js";
import { Time } from "../components/fact.js";
import { Empty, Failure, Loading } from "../components/failure.js";
import { FilterField } from "../components/filter-field.js";
import { LongText } from "../components/long-text.js";
import { VirtualList } from "../components/virtual-list.js";
import { count } from "../format.js";
import { usePages } from "../hooks/use-pages.js";
import { linkHere } from "../location.js";
import type { Place } from "../router.js";
import { Versions } from "./versions.js";

const PAGE_SIZE = 100;

interface Props {
  readonly owner: MemoryOwner;
  readonly collection: { readonly label: string; readonly count: number };
  readonly place: Place;
}

type Entry = EntryList["entries"][number];

/** The entries under one label, and one of them in full. */
export function CollectionDetail({ owner, collection, place }: Props) {
  const { label } = collection;
  const prefix = place.query.get("prefix");
  const wanted = place.query.get("entry");
  const key = JSON.stringify([owner, label, prefix]);
  const entries = usePages<Entry>(key, async (after, signal) => {
    const page = await read("entries", { ...ownerQuery(owner), label, prefix, after, limit: PAGE_SIZE }, signal);
    return { items: page.entries, next: page.next };
  });
  const shown = entries.items.find((entry) => entry.key === wanted);
  return (
    <>
      <section class="panel">
        <div class="panel-head">
          <h2>
            <bdi>{label}</bdi>
          </h2>
          <span class="quiet-number">{count(collection.count)}</span>
          <FilterField name="prefix" label="Key begins with" place={place} />
        </div>
        {entries.error && <Failure error={entries.error} retry={entries.reload} />}
        {entries.isComplete && entries.items.length === 0 ? (
          <Empty title="No entry matches." />
        ) : (
          <div class="entry-list">
            <VirtualList
              items={entries.items}
              rowHeight={38}
              label="Entries"
              keyOf={(entry) => entry.key}
              onEnd={entries.error ? undefined : entries.more}
              row={(entry) => <EntryRow entry={entry} isShown={entry.key === wanted} />}
              footer={entries.isLoading && !entries.error && <Loading />}
            />
          </div>
        )}
      </section>
      {wanted !== null && (
        <>
          {shown && (
            <section class="panel">
              <h2>
                <bdi>{shown.key}</bdi>
              </h2>
              <LongText text={shown.content} label={`Entry ${shown.key}`} />
            </section>
          )}
          <Versions
            key={wanted}
            owner={owner}
            label={label}
            entry={wanted}
            known={shown?.updatedAt ?? ""}
            shown={place.query.get("version")}
            reload={entries.reload}
          />
        </>
      )}
    </>
  );
}

function EntryRow({ entry, isShown }: { readonly entry: Entry; readonly isShown: boolean }) {
  return (
    <a
      class="entry-row"
      href={linkHere({ entry: entry.key, version: null })}
      aria-current={isShown ? "true" : undefined}
      data-item
    >
      <bdi class="title">{entry.key}</bdi>
      <bdi class="preview">{entry.content.slice(0, 200)}</bdi>
      <Time at={entry.updatedAt} />
    </a>
  );
}
