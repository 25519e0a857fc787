import { assertBudget, assertStorableText, estimateStringTokens, foldLabel, StemmaError } from "@stemma/model";
import { userEntriesOf } from "@stemma/session";
import {
  type EntryFields,
  type EntryScope,
  fieldsOf,
  holdsAt,
  type ListedBlock,
  type StoredVersion,
} from "@stemma/store";
import type { EntryList, EntryView, MemoryBlock, MemoryView, OwnerList, VersionList, WriteList } from "../api.js";
import { Refusal } from "../http/failure.js";
import type { Fields } from "../http/fields.js";
import { blockKey, entryScope, type MemoryPlace, ownerOf, placeOf } from "../options.js";
import { cut, MOST_NAMES, read, type StudioCall, sessionOf, USUAL_NAMES, write } from "../route.js";

export const memoryRoutes = [
  read("owners", owners),
  read("memory", memory),
  read("versions", versions),
  read("writes", writes),
];

async function owners({ store, fields }: StudioCall): Promise<OwnerList> {
  const kind = fields.oneOf("kind", ["user", "key"]);
  const limit = fields.limit(USUAL_NAMES, MOST_NAMES);
  if (store.userId !== undefined && kind === "key") return { owners: [], next: null };
  const found = await store.blocks.owners(kind, { after: fields.optionalText("after"), limit: limit + 1 });
  const { shown, last } = cut(found, limit);
  return { owners: shown, next: last };
}

async function memory(call: StudioCall): Promise<MemoryView> {
  const { store, scope } = await placeIn(call);
  const [blocks, collections] = await Promise.all([store.blocks.list(scope), store.entries.labels(scope)]);
  return { blocks: blocks.map(memoryBlock), collections };
}

async function versions(call: StudioCall): Promise<VersionList> {
  const { fields } = call;
  const place = await placeIn(call);
  const label = fields.text("label");
  const key = fields.optionalText("entry");
  const { blocks, entries } = place.store;
  return {
    versions: await (key === undefined
      ? blocks.versions(blockKey(place, label))
      : entries.versions(entryScope(place, label), key)),
  };
}

async function writes(call: StudioCall): Promise<WriteList> {
  const { store, fields } = call;
  const { id } = await sessionOf(call);
  const found = await store.session(id).writes(fields.text("message"));
  // What belongs to a key is not one user's.
  return { writes: store.userId === undefined ? found : found.filter(({ owner }) => !("key" in owner)) };
}

function placeIn({ store, fields }: StudioCall): Promise<MemoryPlace> {
  return placeOf(store, ownerOf(fields));
}

function memoryBlock(block: ListedBlock): MemoryBlock {
  const { label, content, version, updatedAt } = block;
  return { label, content, tokens: estimateStringTokens(content), version, updatedAt };
}

export const memoryWriteRoutes = [write("edit-block", editBlock), write("restore-version", restoreVersion)];

async function editBlock(call: StudioCall): Promise<object> {
  const { store, fields } = call;
  const owner = ownerOf(fields.fields("owner"));
  const place = await placeOf(store, owner);
  const label = fields.text("label");
  const content = fields.text("content");
  const expectedVersion = fields.whole("expectedVersion");
  try {
    const replaced =
      "session" in owner && (await replaceConfigured(call, owner.session, label, content, expectedVersion));
    if (!replaced) await place.store.blocks.set(blockKey(place, label), content, { expectedVersion });
    return {};
  } catch (error) {
    if (StemmaError.isInstance(error, "BLOCK_CONFLICT")) throw (await conflict(place, label, error)) ?? error;
    throw error;
  }
}

// A block that the program configures keeps to its budget and its schema. False where it is none of the session's own.
async function replaceConfigured(
  { manager, hasManager, store }: StudioCall,
  sessionId: string,
  label: string,
  content: string,
  expectedVersion: number,
): Promise<boolean> {
  if (!hasManager) return false;
  const session = manager.getSession(sessionId);
  const block = await session.readContextBlock(label);
  if (block === null || !block.writable || block.isSkill || block.isSearchable) return false;
  const own = await store.blocks.get({ sessionId, kind: "block", label });
  // Of another scope, or of a provider that keeps it elsewhere.
  if (own === null || own.version !== block.version || own.content !== block.content) return false;
  await session.replaceContextBlock(label, content, { expectedVersion });
  return true;
}

async function conflict(place: MemoryPlace, label: string, { code, message }: StemmaError): Promise<Refusal | null> {
  const blocks = await place.store.blocks.list(place.scope);
  const present = blocks.find((block) => foldLabel(block.label) === foldLabel(label));
  if (present === undefined) return null;
  return new Refusal(409, { code, message, details: { block: memoryBlock(present) } });
}

async function restoreVersion(call: StudioCall): Promise<object> {
  const { store, fields } = call;
  const key = fields.optionalText("key");
  if (key !== undefined) return restoreEntry(call, key, (versions) => versionOf(versions, fields.whole("version")));
  const place = await placeOf(store, ownerOf(fields.fields("owner")));
  const block = blockKey(place, fields.text("label"));
  const { content } = versionOf(await place.store.blocks.versions(block), fields.whole("version"));
  await place.store.blocks.set(block, content ?? "");
  return {};
}

function versionOf(versions: readonly StoredVersion[], number: number): StoredVersion {
  const version = versions.find((each) => each.version === number);
  if (version !== undefined) return version;
  throw new StemmaError("VERSION_NOT_FOUND", { version: number }, `Version ${number} is not kept.`);
}

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
async function restoreEntry(
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
