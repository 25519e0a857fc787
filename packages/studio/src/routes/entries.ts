import { assertBudget, assertStorableText, foldLabel } from "@stemma/model";
import { userEntriesOf } from "@stemma/session";
import { type EntryFields, type EntryScope, fieldsOf, holdsAt, type StoredVersion } from "@stemma/store";
import type { EntryList, EntryView } from "../api.js";
import type { Fields } from "../http/fields.js";
import { entryScope, type MemoryPlace, ownerOf, placeOf } from "../options.js";
import { cut, MOST_NAMES, read, type StudioCall, USUAL_NAMES, write } from "../route.js";

export const entryRoutes = [
  read("entries", entries),
  read("entry", entry),
  write("edit-entry", editEntry),
  write("forget-entry", forgetEntry),
];

/** Characters of an entry in a list. */
const PREVIEW = 200;

async function entries({ store, fields }: StudioCall): Promise<EntryList> {
  const place = await placeOf(store, ownerOf(fields));
  const limit = fields.limit(USUAL_NAMES, MOST_NAMES);
  const found = await place.store.entries.list(entryScope(place, fields.text("label")), {
    prefix: fields.optionalText("prefix"),
    after: fields.optionalText("after"),
    limit: limit + 1,
    includeEnded: true,
  });
  const { shown, last } = cut(found, limit);
  const rows = shown.map((each) => {
    const { key, content, validFrom, validTo, tags, updatedAt } = each;
    const preview = content.slice(0, PREVIEW).toWellFormed();
    return { key, preview, validFrom, validTo, tags, holds: holdsAt(each), updatedAt };
  });
  return { entries: rows, next: last?.key ?? null };
}

async function entry({ store, fields }: StudioCall): Promise<EntryView> {
  const place = await placeOf(store, ownerOf(fields));
  const scope = entryScope(place, fields.text("label"));
  const key = fields.text("entry");
  const [found, versions] = await Promise.all([
    place.store.entries.get(scope, key),
    place.store.entries.versions(scope, key),
  ]);
  const lastVersion = versions.find(({ content }) => content !== null)?.version ?? null;
  return { entry: found && { ...found, holds: holdsAt(found) }, message: messageOf(versions), lastVersion };
}

function messageOf(versions: readonly StoredVersion[]): EntryView["message"] {
  const noted = versions.find(({ sessionId, messageIds }) => sessionId !== null && messageIds.length > 0);
  const messageId = noted?.messageIds.at(-1);
  return noted?.sessionId == null || messageId === undefined ? null : { sessionId: noted.sessionId, messageId };
}

/** Where a write goes to, and what holds for the block that the program configured there. */
interface Written {
  readonly place: MemoryPlace;
  readonly scope: EntryScope;
  readonly label: string;
  readonly maxTokens: number | undefined;
  readonly noted: { readonly origin: { readonly author: "program" }; readonly keepVersions?: number };
}

async function writtenBy({ store, manager, hasManager, fields }: StudioCall): Promise<Written> {
  const owner = ownerOf(fields.fields("owner"));
  const label = fields.text("label");
  const place = await placeOf(store, owner);
  // The blocks of a user's are alike in all sessions; this one is not registered.
  const known =
    hasManager && "user" in owner ? userEntriesOf(manager.forUser(owner.user).getSession(crypto.randomUUID())) : [];
  const block = known.find(({ scope }) => foldLabel(scope.label) === foldLabel(label));
  const { maxTokens, keepVersions } = block ?? {};
  const origin = { author: "program" } as const;
  const noted = keepVersions === undefined ? { origin } : { origin, keepVersions };
  return { place, scope: entryScope(place, label), label, maxTokens, noted };
}

async function set(written: Written, entry: EntryFields & { key: string; content: string }, expected?: string) {
  const { place, scope, label, maxTokens, noted } = written;
  assertStorableText(entry.content, "content");
  assertBudget(label, entry.content, maxTokens ?? Number.POSITIVE_INFINITY);
  const expectedContent = expected === undefined ? {} : { expectedContent: expected };
  await place.store.entries.set(scope, entry, { ...noted, ...expectedContent });
}

async function editEntry(call: StudioCall): Promise<object> {
  const { fields } = call;
  const times = timesIn(fields);
  const entry = { ...times, key: fields.text("key"), content: fields.text("content") };
  await set(await writtenBy(call), entry, fields.text("expectedContent"));
  return {};
}

function timesIn(fields: Fields): EntryFields {
  const [validFrom, validTo] = [fields.nullableText("validFrom"), fields.nullableText("validTo")];
  return { ...(validFrom !== undefined && { validFrom }), ...(validTo !== undefined && { validTo }) };
}

async function forgetEntry(call: StudioCall): Promise<object> {
  const { place, scope, noted } = await writtenBy(call);
  await place.store.entries.delete(scope, call.fields.text("key"), noted);
  return {};
}

/** Writes an earlier version of an entry anew, with its times and tags. */
export async function restoreEntry(
  call: StudioCall,
  key: string,
  choose: (versions: readonly StoredVersion[]) => StoredVersion,
): Promise<object> {
  const written = await writtenBy(call);
  const { place, scope, noted } = written;
  const version = choose(await place.store.entries.versions(scope, key));
  const { content } = version;
  if (content === null) await place.store.entries.delete(scope, key, noted);
  else await set(written, { ...fieldsOf(version), key, content });
  return {};
}
