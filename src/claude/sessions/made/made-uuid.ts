import { sha256 } from "../../../model/sha256.js";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/**
 * The uuid of an entry that is made of a message of another program, the same each time. `behind` says how many entries are
 * made of the message behind this one: the last one of a message whose id is a uuid has that.
 */
export function madeUuid(messageId: string, behind: number): string {
  if (behind === 0 && UUID.test(messageId)) return messageId;
  const digest = sha256(messageId);
  const place = behind.toString(16).padStart(4, "0").slice(-4);
  return signed(`${digest.slice(0, 8)}-${place}-8${digest.slice(8, 11)}-a${digest.slice(11, 14)}`);
}

/** True for a uuid that was made so, and is no message's own. */
export function isMadeUuid(uuid: string): boolean {
  return UUID.test(uuid) && signed(uuid.slice(0, 23)) === uuid;
}

/** True where the uuid was made of this message, or of the results that others gave to its calls. */
export function isMadeOf(uuid: string, messageId: string): boolean {
  const beginning = uuid.slice(0, 8) + uuid.slice(15, 18) + uuid.slice(20, 23);
  return [messageId, resultsOf(messageId)].some((id) => sha256(id).startsWith(beginning));
}

/** What an entry with the results of others is made of. */
export function resultsOf(messageId: string): string {
  return `${messageId} results`;
}

// The end tells it from uuids of others.
function signed(beginning: string): string {
  return `${beginning}-${sha256(`stemma ${beginning}`).slice(0, 12)}`;
}
