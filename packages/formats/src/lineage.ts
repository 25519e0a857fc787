import { quote } from "@stemma/model";

/** The place that an entry of a file hangs below; `isMissing` where the parent that it names is not there, and another place is taken. */
export interface Above<P> {
  readonly place: P;
  readonly isMissing: boolean;
}

/**
 * Tells what each entry of a file hangs below. One that names no parent, or one that is not there, follows the entry before
 * it. One that says that it has none is a root, but only where any entry names a parent: a file of ids without parents is one
 * conversation.
 */
export class Lineage<P> {
  last: P;
  #isTree: boolean;

  /** `isTree` is true where it is known that entries of the file name parents. */
  constructor(
    private readonly root: P,
    isTree = false,
  ) {
    this.last = root;
    this.#isTree = isTree;
  }

  /** `parent` is what the entry says: an id, null for none, undefined where it says nothing. */
  above(parent: unknown, find: (id: string) => P | undefined): Above<P> {
    if (typeof parent !== "string")
      return { place: parent === null && this.#isTree ? this.root : this.last, isMissing: false };
    this.#isTree = true;
    const place = find(parent);
    return { place: place ?? this.last, isMissing: place === undefined };
  }
}

/** Why a report names a message whose parent does not stand before it: `isAttached` when something came before it. */
export function missingParent(parentId: string, isAttached: boolean): string {
  const where = isAttached ? "it is attached to the message before it" : "it starts a tree of its own";
  return `its parent ${quote(parentId)} is missing; ${where}`;
}
