import { estimateStringTokens, foldLabel } from "@stemma/model";
import { type EntryFields, type ListedEntry, subjectOf } from "@stemma/store";
import { beginningOf, type Closing, closingOf, heldSince, type Link, readDate, type ShownEntries } from "./closing.js";
import { editedEntry, sameFactAs } from "./edited-text.js";
import { type EditContext, type EditedBlock, type LearnEdit, type LearnedWrite, refused } from "./edits.js";
import { asSuccessor, entryKeysOf, isOver } from "./entry-keys.js";

/** The write of an entry, and what of its edit is left out. */
export type EntryEdit = Pick<LearnedWrite, "key" | "content" | "fields" | "supersededBy"> & Pick<Closing, "notes">;

/** Throws for what exceeds its block, or what somebody took back. */
export function assertKept({ label, cap }: EditedBlock, after: string, edit: LearnEdit, context: EditContext): void {
  const { content, messageIds } = edit;
  if (estimateStringTokens(after) > cap) throw refused(`it exceeds ${cap} tokens`);
  if (typeof content === "string" && context.isForgotten(label, content, messageIds))
    throw refused("it was removed after it was learned");
}

const ENDED = "the entry that it names has ended";

/** Entries as the edits of one answer leave them, one after the other. */
export class AnsweredEntries {
  /** Entries as edits wrote them; null for those that they removed. */
  readonly #contents = new Map<string, string | null>();
  /** Entries of which a time was learned. */
  readonly #moved = new Map<string, ListedEntry>();
  /** Entries as edits wrote them, and those that supersede these, in their places. */
  readonly #links = new Map<string, Link>();
  readonly #written: { readonly label: string; readonly key: string }[] = [];
  /** The keys of what was added, by the keys that edits gave. */
  readonly #added = new Map<string, string>();

  constructor(private readonly context: EditContext) {}

  /** The write that an edit makes. Errors: `LEARNING_FAILED` where it makes none. */
  write(block: EditedBlock, given: LearnEdit): EntryEdit {
    const { label } = block;
    // What is removed is so now, whenever it says that this was.
    const since = given.action === "remove" ? null : beginningOf(given, this.#dateOf);
    const [first = ""] = entryKeysOf(given, this.context.shown, since);
    if (first === "") throw refused("an entry needs a key");
    this.#assertUnchanged(label, first, given);
    const edit = asSuccessor(given, this.#present(label, first));
    const keys = entryKeysOf(edit, this.context.shown, since);
    const key = keys.find((each) => !isEnded(this.#linkOf(label, each), since));
    if (key === undefined) throw refused(ENDED);
    this.#assertPossible(key);
    const present = this.#entry(label, key);
    const name = nameOf(label, key);
    const isEdited = this.#contents.has(name);
    const before = (isEdited ? this.#contents.get(name) : present?.content) ?? "";
    const content = editedEntry(before, edit);
    if (content === null) {
      if (isEnded(present, null)) throw refused(ENDED);
      this.#contents.set(name, null);
      return { key, content, fields: {}, supersededBy: [], notes: [] };
    }
    const isSame = content === before;
    if (!isSame) assertKept(block, content, edit, this.context);
    const closing = closingOf(
      edit,
      this.#shownIn(label, key, before === "" && isEdited ? null : this.#linkOf(label, key)),
    );
    const said = isSame ? present : before === "" ? this.#saying(label, content, closing) : null;
    if (isSame || said !== null) return this.#timed(block, said, edit, closing);
    const { fields, supersededBy, notes } = closing;
    if (isEnded(present, fields.validFrom ?? null)) throw refused(ENDED);
    if (present !== null) this.#assertMayEnd(label, present, fields);
    this.#contents.set(name, content);
    this.#note(label, key, edit, present, closing);
    return { key, content, fields: { origin: originOf(present), ...fields }, supersededBy, notes };
  }

  readonly #dateOf: ShownEntries["dateOf"] = (id) => this.context.messages.get(id) ?? null;

  #entry(label: string, key: string): ListedEntry | null {
    return this.#moved.get(nameOf(label, key)) ?? this.context.entry(label, key);
  }

  #linkOf(label: string, key: string): Link | null {
    return this.#links.get(nameOf(label, key)) ?? this.#entry(label, key);
  }

  // As it was shown, or as the answer adds it; null for one that an edit wrote anew.
  #present(label: string, key: string): (Link & { readonly content: string }) | null {
    const name = nameOf(label, key);
    if (!this.#contents.has(name)) return this.#entry(label, key);
    const [link, content] = [this.#linkOf(label, key), this.#contents.get(name)];
    return this.#added.get(name) === key && link !== null && content ? { ...link, content } : null;
  }

  #shown(label: string) {
    return this.context.shown.filter((each) => foldLabel(each.label) === foldLabel(label));
  }

  #shownIn(label: string, key: string, written: Link | null): ShownEntries {
    const others = this.#written.filter((each) => each.label === label && each.key !== key);
    return {
      key,
      written,
      shown: this.#shown(label),
      // What another edit of the answer writes or removes is no longer what was shown.
      entry: (each) => (this.#contents.has(nameOf(label, each)) ? null : this.#entry(label, each)),
      link: (each) => this.#linkOf(label, each),
      added: (each) => {
        const own = this.#added.get(nameOf(label, each)) ?? key;
        return own === key ? null : this.#linkOf(label, own);
      },
      answered: others.flatMap((each) => this.#linkOf(label, each.key) ?? []),
      dateOf: this.#dateOf,
    };
  }

  // So that the next edit of the answer finds its place beside this one.
  #note(label: string, key: string, edit: LearnEdit, present: ListedEntry | null, closing: Closing): void {
    const { fields, supersededBy, until } = closing;
    const {
      createdAt = new Date().toISOString(),
      validFrom = null,
      validTo = null,
      supersedes = [],
      tags = [],
    } = { ...this.#linkOf(label, key), ...fields };
    this.#links.set(nameOf(label, key), { key, createdAt, validFrom, validTo: until ?? validTo, supersedes, tags });
    this.#written.push({ label, key });
    this.#end(label, fields.validFrom ? supersedes : fields.supersedes, fields.validFrom ?? createdAt);
    if (present === null) for (const each of [edit.key ?? key, key]) this.#added.set(nameOf(label, each), key);
    for (const by of supersededBy) {
      const next = this.#linkOf(label, by);
      if (next !== null) this.#links.set(nameOf(label, by), { ...next, supersedes: [...next.supersedes, key] });
    }
  }

  // What an entry takes the place of ends where it begins.
  #end(label: string, predecessors: readonly string[] | null = [], validTo: string): void {
    for (const key of predecessors ?? []) {
      const link = this.#linkOf(label, key);
      if (link === null || (link.validTo !== null && link.validTo <= validTo)) continue;
      this.#links.set(nameOf(label, key), { ...link, validTo });
    }
  }

  // Whoever edits, ends or removes an entry while learning runs, wins.
  #assertUnchanged(label: string, key: string, { action }: LearnEdit): void {
    const before = this.#shown(label).find((each) => each.key === key);
    if (before === undefined) return;
    const present = this.#entry(label, key);
    if (present === null) throw refused("somebody removed the entry meanwhile");
    if (isEnded(present, null) || (action !== "add" && present.content !== before.content))
      throw refused("somebody changed the entry meanwhile");
  }

  #assertPossible(key: string): void {
    const reason = this.context.impossible.get(key);
    if (reason !== undefined) throw refused(reason);
  }

  #assertMayEnd(label: string, { key }: ListedEntry, { validTo }: EntryFields): void {
    if (validTo !== undefined && !this.#shown(label).some((each) => each.key === key))
      throw refused("the entry that it ends was not shown");
  }

  #saying(label: string, content: string, closing: Closing): ListedEntry | null {
    const found = this.context.same(label, content).find((each) => isSaid(each, closing));
    return found === undefined ? null : this.#entry(label, found.key);
  }

  // What is known already is nothing new, except when it began or ended.
  #timed(block: EditedBlock, known: ListedEntry | null, edit: LearnEdit, { fields, notes }: Closing): EntryEdit {
    const { label } = block;
    const isEdited = known === null || this.#contents.has(nameOf(label, known.key));
    const validFrom = isEdited ? null : this.#earlier(label, known, edit);
    const validTo = isEdited || known.validTo !== null ? null : (fields.validTo ?? null);
    if (isEdited || (validFrom === null && validTo === null)) throw refused("it says nothing new");
    const { key, content } = known;
    this.#assertPossible(key);
    assertKept(block, content, edit, this.context);
    const moved = { ...(validFrom !== null && { validFrom }), ...(validTo !== null && { validTo }) };
    this.#assertMayEnd(label, known, moved);
    if (validTo !== null && validTo <= (heldSince(known) ?? "")) throw refused("it ends before it begins");
    const name = nameOf(label, key);
    const link = this.#links.get(name);
    if (link !== undefined) this.#links.set(name, { ...link, ...moved });
    if (validFrom !== null) this.#end(label, (link ?? known).supersedes, validFrom);
    this.#moved.set(name, { ...known, ...moved });
    const closes = (edit.supersedes ?? []).length > 0 ? ["nothing is closed: it says nothing else that is new"] : [];
    return { key, content, fields: moved, supersededBy: [], notes: [...notes, ...closes] };
  }

  // A beginning that may take the place of a later one, or of none. A person's date stays.
  #earlier(label: string, { key, content, validFrom, createdAt, origin }: ListedEntry, edit: LearnEdit) {
    const told = readDate(edit.validFrom);
    if (!told || told >= (validFrom ?? createdAt) || !sameFactAs(content)(String(edit.content))) return null;
    if (validFrom !== null && (origin === null || origin === "user")) return null;
    const before = (this.#linkOf(label, key)?.supersedes ?? []).flatMap((each) => this.#linkOf(label, each) ?? []);
    return before.every((each) => (heldSince(each) ?? "") < told) ? told : null;
  }
}

const nameOf = (label: string, key: string) => JSON.stringify([label, key]);

const isEnded = (entry: Pick<ListedEntry, "validTo"> | null, since: string | null) =>
  entry !== null && isOver(entry, since);

// Nothing becomes more trustworthy by learning.
const originOf = (present: ListedEntry | null) => (present?.origin === "web" ? "web" : "learning");

// What is said already, of the same time. What never held is said by another entry.
function isSaid(each: ListedEntry, { fields, until }: Closing): boolean {
  const { validFrom = null, tags = [] } = fields;
  const subject = subjectOf(tags ?? []);
  return (
    (subjectOf(each.tags) ?? subject) === (subject ?? subjectOf(each.tags)) &&
    (each.validTo === null ||
      validFrom === null ||
      validFrom < each.validTo ||
      each.validTo <= (each.validFrom ?? each.validTo)) &&
    (until === null || each.validFrom === null || each.validFrom < until)
  );
}
