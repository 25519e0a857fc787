const BASE64 = /^[A-Za-z0-9+/_=-]+$/;

/**
 * True for a string that is a file's bytes rather than text: a `data:` URL, or base64 in a `data` field that stands
 * beside its media type. `holder` is the object the string was found in, under `key`.
 */
export function isInlineMedia(holder: unknown, key: string, value: unknown): value is string {
  if (typeof value !== "string") return false;
  if (value.startsWith("data:")) return value.slice(0, 256).includes(",");
  // The start tells: reading megabytes to be sure would cost more than the answer is worth.
  return key === "data" && mediaTypeOf(holder) !== null && BASE64.test(value.slice(0, 256));
}

/** The media type an object names for the data it holds; null when it names none. */
export function mediaTypeOf(holder: unknown): string | null {
  if (typeof holder !== "object" || holder === null) return null;
  const { mediaType, mimeType, media_type } = holder as Record<string, unknown>;
  const type = mediaType ?? mimeType ?? media_type;
  return typeof type === "string" ? type : null;
}

/** False for a JSON text that holds no inline media for sure. */
export function mayHoldMedia(json: string): boolean {
  return ['"data:', '"mediaType"', '"mimeType"', '"media_type"'].some((sign) => json.includes(sign));
}
