/** What separates names in a key, what escapes, and what no database keeps: NUL and halves of surrogate pairs. */
const ESCAPED = /[%/\0\ud800-\udfff]/gu;

/** A name as it stands in a key of several: any text, without "/". */
export function escapeName(name: string): string {
  return name.replace(ESCAPED, (character) => `%${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** The name that `escapeName` wrote. */
export function readName(escaped: string): string {
  return escaped.replace(/%([0-9a-f]{4})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}
