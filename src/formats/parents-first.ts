/** Something of a file that names what it hangs below. */
export interface TreeEntry {
  id: string;
  parentId: string | null;
}

/**
 * The entries so that each stands behind its parent, otherwise in their order. Of two with one id the first is taken. What
 * hangs below itself begins with the entry that is come to first.
 */
export function parentsFirst<E extends TreeEntry>(entries: readonly E[]): E[] {
  const byId = new Map<string, E>();
  for (const entry of entries) if (!byId.has(entry.id)) byId.set(entry.id, entry);
  const ordered = new Set<E>();
  for (const entry of byId.values()) {
    const above: E[] = [];
    const path = new Set<E>();
    let at: E | undefined = entry;
    while (at !== undefined && !ordered.has(at) && !path.has(at)) {
      path.add(at);
      above.push(at);
      at = at.parentId === null ? undefined : byId.get(at.parentId);
    }
    // Of a circle, the entry that was come to first is its beginning.
    if (at !== undefined && path.has(at)) ordered.add(at);
    for (const next of above.reverse()) ordered.add(next);
  }
  return [...ordered];
}
