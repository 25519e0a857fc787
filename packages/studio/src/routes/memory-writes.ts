import { foldLabel, StemmaError } from "@stemma/model";
import type { StoredVersion } from "@stemma/store";
import { Refusal } from "../http/failure.js";
import { blockKey, entryScope, type MemoryPlace, ownerOf, placeOf } from "../options.js";
import { type StudioCall, write } from "../route.js";
import { memoryBlock } from "./memory.js";

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

async function restoreVersion({ store, fields }: StudioCall): Promise<object> {
  const place = await placeOf(store, ownerOf(fields.fields("owner")));
  const label = fields.text("label");
  const key = fields.optionalText("key");
  const number = fields.whole("version");
  const { blocks, entries } = place.store;
  if (key === undefined) {
    const { content } = versionOf(await blocks.versions(blockKey(place, label)), number);
    await blocks.set(blockKey(place, label), content ?? "");
    return {};
  }
  const scope = entryScope(place, label);
  const { content } = versionOf(await entries.versions(scope, key), number);
  await (content === null ? entries.delete(scope, key) : entries.set(scope, { key, content }));
  return {};
}

function versionOf(versions: readonly StoredVersion[], number: number): StoredVersion {
  const version = versions.find((each) => each.version === number);
  if (version !== undefined) return version;
  throw new StemmaError("VERSION_NOT_FOUND", { version: number }, `Version ${number} is not kept.`);
}
