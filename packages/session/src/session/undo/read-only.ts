import type { RememberedVersion } from "@stemma/store";
import type { LiveBlock } from "../../context/live-block.js";

/** Where a text of the memory stands. */
export type MemoryPlace = Pick<RememberedVersion, "owner" | "label" | "key">;

/** True for an entry of a scope that blocks show, and none of them may write. */
export function isReadOnly(blocks: readonly LiveBlock[], { owner, label, key }: MemoryPlace): boolean {
  if (key === null) return false;
  const places = blocks
    .flatMap(({ entryPlaces }) => entryPlaces)
    .filter(({ scope, entries }) => {
      const isOwn = typeof scope === "object" ? "key" in owner && owner.key === scope.key : scope in owner;
      return isOwn && entries.label === label;
    });
  return places.length > 0 && places.every(({ writable }) => !writable);
}
