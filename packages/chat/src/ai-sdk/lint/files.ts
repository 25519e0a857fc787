import { mapped, type Pieces, type SessionMessagePart } from "@stemma/model";
import type { Draft, LintRule, Report, Slot } from "./findings.js";
import { isText, type ProviderRules } from "./provider-rules.js";

/** Of what is too much so much stays: so it takes a while until the next file goes, and the prefix changes. */
const SHARE_LEFT = 0.75;

interface FilesContext {
  readonly rules: ProviderRules;
  readonly report: Report;
}

const isFile = ({ part }: Slot) => part.type === "file";
const isImage = ({ part }: Slot) => typeOf(part).startsWith("image/");
const isDocument = (slot: Slot) => !isImage(slot);

/** The file as the provider takes it, or a text that says that there was one. */
export function mendFile(slot: Slot, role: string, { rules, report }: FilesContext): SessionMessagePart {
  const { part } = slot;
  const { url, mediaType } = part;
  const readable = typeof url === "string" && typeof mediaType === "string" && isReadable(url);
  const answer = role === "assistant";
  const refused = answer ? !rules.answersFiles || !`${url}`.startsWith("data:") : !rules.files.test(typeOf(part));
  if (!readable || refused) {
    report("unreadable-file", slot, `${rules.name} cannot read a file (${mediaType}). A text says that there was one.`);
    return noteOf(part);
  }
  const most = isImage(slot) ? rules.limits.imageSize : rules.limits.documentSize;
  if (sizeOf(slot) <= most) return part;
  const limit = `${most.toLocaleString("en")} characters of base64`;
  report(
    "large-file",
    slot,
    `${rules.name} takes files of up to ${limit}. A text says that there was one (${mediaType}).`,
  );
  return noteOf(part);
}

/** The messages with as many files as the provider takes, the newest of them, under names that it takes. */
export function* mendFiles(drafts: readonly Draft[], context: FilesContext): Pieces<readonly Draft[]> {
  const { limits } = context.rules;
  const files = (yield* mapped(drafts, ({ slots }) => slots.filter(isFile))).flat();
  if (files.length === 0) return drafts;
  const changed = new Map<Slot, SessionMessagePart>();
  const leaveOut = (from: readonly Slot[], most: number, weight: (slot: Slot) => number, what: string) => {
    for (const slot of older(from, most, weight)) {
      if (changed.has(slot)) continue;
      const message = `${context.rules.name} takes ${most.toLocaleString("en")} ${what} in one request. An older one is left out; a text says so.`;
      context.report("too-many-files", slot, message);
      changed.set(slot, noteOf(slot.part));
    }
  };
  leaveOut(files.filter(isImage), limits.images, () => 1, "images");
  leaveOut(files.filter(isDocument), limits.documents, () => 1, "documents");
  leaveOut(
    files.filter((slot) => !changed.has(slot)),
    limits.filesSize,
    sizeOf,
    "characters of files",
  );
  const left = files.filter((slot) => !changed.has(slot));
  for (const [slot, part] of renamed(left.filter(isDocument), context)) changed.set(slot, part);
  return yield* mapped(drafts, (draft) => {
    const shown = withParts(draft, changed);
    return context.rules.textBesideFiles ? withText(shown, context) : shown;
  });
}

// The first ones, as soon as all together are more than `most`: always the same for a history that grows.
function older(slots: readonly Slot[], most: number, weight: (slot: Slot) => number): readonly Slot[] {
  let start = 0;
  let sum = 0;
  slots.forEach((slot, index) => {
    sum += weight(slot);
    if (sum <= most) return;
    while (sum > most * SHARE_LEFT && start < index) sum -= weight(slots[start++] as Slot);
  });
  return slots.slice(0, start);
}

/** The names that those who speak to a provider give the first document without one. */
const UNNAMED = ["document", "document-1"];

/** Documents whose names the provider refuses, or had before, with other names. */
function renamed(slots: readonly Slot[], { rules, report }: FilesContext): [Slot, SessionMessagePart][] {
  const { fileNames } = rules;
  if (fileNames === null) return [];
  const taken = new Set<string>();
  /** How many copies of a name were looked for. */
  const copies = new Map<string, number>();
  const freeName = (plain: string): string => {
    let free = plain;
    let copy = copies.get(plain) ?? 1;
    while (taken.has(free.toLowerCase())) free = `${plain} (${++copy})`;
    copies.set(plain, copy);
    taken.add(free.toLowerCase());
    return free;
  };
  return slots.flatMap((slot): [Slot, SessionMessagePart][] => {
    const { filename } = slot.part;
    if (!isText(filename)) {
      const wasTaken = UNNAMED.some((name) => taken.has(name));
      for (const name of UNNAMED) taken.add(name);
      if (!wasTaken) return [];
      const free = freeName("document");
      report("file-name", slot, `${rules.name} takes one file without a name. This one becomes "${free}".`);
      return [[slot, { ...slot.part, filename: free }]];
    }
    const stem = filename.replace(/\.[^.]*$/, "");
    const free = freeName(fileNames.test(stem) ? stem : plainStem(stem));
    if (free === stem) return [];
    report("file-name", slot, `${rules.name} cannot take a file with the name "${filename}". It becomes "${free}".`);
    return [[slot, { ...slot.part, filename: free }]];
  });
}

function plainStem(stem: string): string {
  const plain = stem.replace(/[^A-Za-z0-9\s()[\]-]/g, "-").replace(/\s+/g, " ");
  return plain.trim().slice(0, 100).trim() || "file";
}

function withParts(draft: Draft, changed: ReadonlyMap<Slot, SessionMessagePart>): Draft {
  if (!draft.slots.some((slot) => changed.has(slot))) return draft;
  return { ...draft, slots: draft.slots.map((slot) => replaced(slot, changed.get(slot))) };
}

const replaced = (slot: Slot, part: SessionMessagePart | undefined) => (part === undefined ? slot : { ...slot, part });

// A document alone is refused.
function withText(draft: Draft, { rules, report }: FilesContext): Draft {
  const file = draft.slots.find((slot) => isFile(slot) && isDocument(slot));
  if (file === undefined || draft.slots.some(({ part }) => part.type === "text")) return draft;
  const rule: LintRule = "file-without-text";
  report(rule, file, `${rules.name} takes a document only beside a text. One is put before it.`);
  const text = { ...file, part: { type: "text", text: "The attached file:" } };
  return { ...draft, slots: [text, ...draft.slots] };
}

function noteOf({ filename, mediaType }: SessionMessagePart): SessionMessagePart {
  const name = typeof filename === "string" ? ` "${filename}"` : "";
  return { type: "text", text: `[The file${name} (${mediaType}) cannot be shown to this model.]` };
}

// The AI SDK believes the URL.
function typeOf({ url, mediaType }: SessionMessagePart): string {
  return /^data:([^/,;]+\/[^,;]+)/.exec(`${url}`)?.[1] ?? `${mediaType}`;
}

/** Characters of base64; of a file elsewhere 0. */
function sizeOf({ part }: Slot): number {
  const url = `${part.url}`;
  return url.startsWith("data:") ? url.length - url.indexOf(",") - 1 : 0;
}

// Without one expression for all of it: that would try each end of the type anew for each character.
function isReadable(url: string): boolean {
  if (!url.startsWith("data:")) return url !== "";
  const comma = url.indexOf(",");
  const [type = ""] = url.slice("data:".length, Math.max(comma, 0)).split(";", 1);
  const slash = type.indexOf("/");
  return slash > 0 && slash < type.length - 1 && comma < url.length - 1;
}
