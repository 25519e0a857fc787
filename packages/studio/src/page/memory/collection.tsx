import { useState } from "preact/hooks";
import type { EntryRow, MemoryOwner } from "../../api.js";
import { ownerQuery, read } from "../api-client.js";
import { Time } from "../components/fact.js";
import { Empty, Failure, Loading } from "../components/failure.js";
import { FilterField } from "../components/filter-field.js";
import { Icon } from "../components/icons.js";
import { VirtualList } from "../components/virtual-list.js";
import { count, counted } from "../format.js";
import { usePages } from "../hooks/use-resource.js";
import { linkHere } from "../location.js";
import type { Place } from "../router.js";
import { EntryDetail } from "./entry-detail.js";
import { bySubject, type SubjectRow, spanOf } from "./subjects.js";

/** So many that what is remembered of a person comes at once, and its subjects stay in their places. */
const PAGE_SIZE = 500;

interface Props {
  readonly owner: MemoryOwner;
  readonly collection: { readonly label: string; readonly count: number };
  readonly place: Place;
}

/** The entries under one label by what they are about, and one of them in full. */
export function Collection({ owner, collection, place }: Props) {
  const { label } = collection;
  const prefix = place.query.get("prefix");
  const wanted = place.query.get("entry");
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const entries = usePages<EntryRow>(JSON.stringify([owner, label, prefix]), async (after, signal) => {
    const page = await read("entries", { ...ownerQuery(owner), label, prefix, after, limit: PAGE_SIZE }, signal);
    return { items: page.entries, next: page.next };
  });
  const toggle = (name: string) => {
    const others = [...open].filter((each) => each !== name);
    setOpen(new Set(open.has(name) ? others : [...open, name]));
  };
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
              items={bySubject(entries.items, open)}
              rowHeight={38}
              label="Entries"
              keyOf={keyOf}
              onEnd={entries.error ? undefined : entries.more}
              row={(row) => <Row row={row} wanted={wanted} toggle={toggle} />}
              footer={entries.isLoading && !entries.error && <Loading />}
            />
          </div>
        )}
      </section>
      {wanted !== null && (
        <EntryDetail
          key={wanted}
          owner={owner}
          label={label}
          entryKey={wanted}
          version={place.query.get("version")}
          reload={entries.reload}
        />
      )}
    </>
  );
}

function keyOf(row: SubjectRow): string {
  return row.kind === "entry" ? `entry ${row.entry.key}` : `${row.kind} ${row.name}`;
}

interface RowProps {
  readonly row: SubjectRow;
  readonly wanted: string | null;
  readonly toggle: (name: string) => void;
}

function Row({ row, wanted, toggle }: RowProps) {
  if (row.kind === "entry") return <Entry entry={row.entry} isShown={row.entry.key === wanted} />;
  if (row.kind === "subject") {
    return (
      <h3 class="subject-row">
        <bdi>{row.name === "" ? "Without a subject" : row.name}</bdi>
      </h3>
    );
  }
  return (
    <button type="button" class="quiet ended-row" aria-expanded={row.isOpen} onClick={() => toggle(row.name)} data-item>
      <Icon name={row.isOpen ? "down" : "right"} />
      {counted(row.count, "entry", "entries")} that {row.count === 1 ? "does" : "do"} not hold now
    </button>
  );
}

function Entry({ entry, isShown }: { readonly entry: EntryRow; readonly isShown: boolean }) {
  const { key, preview, holds, updatedAt } = entry;
  const span = spanOf(entry);
  return (
    <a
      class={holds ? "entry-row" : "entry-row is-ended"}
      href={linkHere({ entry: key, version: null })}
      aria-current={isShown ? "true" : undefined}
      data-item
    >
      <bdi class="title">{key}</bdi>
      <bdi class="preview">{preview}</bdi>
      {span === "" ? <Time at={updatedAt} /> : <span class="span">{span}</span>}
    </a>
  );
}
