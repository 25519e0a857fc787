import type { MediaPlace } from "./inline-media.js";

/** What plain JSON cannot say stands in one last field of the stored object, which readers of the table may ignore. */
export const MARKER = "$stemma";

/** What the field says. */
export interface Marker {
  /** `createdAt` was a `Date`. */
  date?: true;
  /** Where media were taken out. */
  media?: MediaPlace[];
  /** The message had a field named like the marker; this is its value. */
  own?: unknown;
  /** The whole content stands elsewhere, under this key: the row would have been too large. */
  split?: string;
}

/** False for what cannot be read as a marker. */
export function isMarker(value: unknown): value is Marker {
  if (typeof value !== "object" || value === null) return false;
  const { date, media, split } = value as Record<keyof Marker, unknown>;
  if (split !== undefined && typeof split !== "string") return false;
  return (
    (date === undefined || date === true) && (media === undefined || (Array.isArray(media) && media.every(isPlace)))
  );
}

function isPlace(value: unknown): boolean {
  const { path, hash } = (value ?? {}) as { path?: unknown; hash?: unknown };
  return typeof hash === "string" && Array.isArray(path) && path.length > 1;
}
