import { assertStorableText, invalid, kindOf, quote, shorten } from "@stemma/model";
import {
  type EntryEnd,
  type EntryFact,
  type EntryFields,
  FACT_ORIGINS,
  type FactOrigin,
  type ListedEntry,
  type VersionFact,
} from "../../contract/store.js";

/** The part of a row that keeps an entry's time, tags and origin. Its own end is one of `ends`. */
export interface KeptFact extends Omit<EntryFact, "validTo"> {
  readonly ends: readonly EntryEnd[];
  /** As in `VersionFact`. */
  readonly merges?: boolean;
}

/** Before every time that an entry can have. */
export const EARLIEST = "0000-01-01T00:00:00.000Z";

/** Of an entry that says nothing of the kind. */
export const NO_FACT: KeptFact = { validFrom: null, expiresAt: null, supersedes: [], tags: [], origin: null, ends: [] };

/** The JSON of a row, or of a version; null where it says nothing. */
export function factText(fact: KeptFact): string | null {
  const text = JSON.stringify(fact);
  return text === NOTHING ? null : text;
}

const NOTHING = JSON.stringify(NO_FACT);

/** The fact that a row or a version keeps as JSON; null for what is none. */
export function parseFact(json: string | null): KeptFact | null {
  if (json === null) return NO_FACT;
  try {
    const { validFrom, expiresAt, supersedes, tags, origin, ends, merges } = JSON.parse(json) as KeptFact;
    const isRight =
      [validFrom, expiresAt].every((time) => time === null || isStored(time)) &&
      [supersedes, tags].every((texts) => texts.every((text) => typeof text === "string")) &&
      (origin === null || FACT_ORIGINS.includes(origin)) &&
      ends.every(isEnd);
    const fact = { validFrom, expiresAt, supersedes, tags, origin, ends };
    return isRight ? (merges === true ? { ...fact, merges } : fact) : null;
  } catch {
    return null;
  }
}

// In its form only: each read of an entry asks.
const isStored = (time: string) => typeof time === "string" && STORED.test(time);

const STORED = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

const isEnd = ({ validTo, invalidatedAt, by }: EntryEnd) =>
  isStored(validTo) && isStored(invalidatedAt) && (by === null || typeof by === "string");

/** Orders ends: the earliest first, and of those at one time the one that was learned first. */
export function inOrder(one: EntryEnd, other: EntryEnd): number {
  return `${one.validTo}${one.invalidatedAt}` < `${other.validTo}${other.invalidatedAt}` ? -1 : 1;
}

/** The end that counts of those of a fact: the first, and none before its beginning. */
export function endOf({ validFrom, ends }: KeptFact): Pick<ListedEntry, "validTo" | "invalidatedAt"> {
  const [first] = [...ends].sort(inOrder);
  if (first === undefined) return { validTo: null, invalidatedAt: null };
  const validTo = validFrom !== null && first.validTo < validFrom ? validFrom : first.validTo;
  return { validTo, invalidatedAt: first.invalidatedAt };
}

/** The fields of a fact as an entry shows them. */
export function shownFact(fact: KeptFact): EntryFact & Pick<ListedEntry, "invalidatedAt" | "supersededBy" | "ends"> {
  const { validFrom, expiresAt, supersedes, tags, origin, ends } = fact;
  const supersededBy = ends.flatMap(({ by }) => by ?? []);
  return { validFrom, ...endOf(fact), expiresAt, supersedes, supersededBy, tags, origin, ends };
}

/** The fact of a version; undefined where it says nothing. */
export function versionFact(fact: KeptFact): VersionFact | undefined {
  if (factText(fact) === null) return undefined;
  const { supersededBy, invalidatedAt, ...shown } = shownFact(fact);
  return fact.merges ? { ...shown, merges: true } : shown;
}

/** The fact that a version keeps, to store it. Errors: `INVALID_ARGUMENT` for what is none. */
export function keptFact(shown: VersionFact | undefined): KeptFact {
  if (shown === undefined) return NO_FACT;
  const fact = parseFact(JSON.stringify(shown));
  if (fact === null) throw invalid("The fact of a version must be as a read of versions gives it.");
  return fact;
}

/** The fields with which an entry says what it said in a version. Its successors end it as they do now. */
export function fieldsOf({ fact }: { readonly fact?: VersionFact | undefined }): Required<EntryFields> {
  const { validFrom, expiresAt, supersedes, tags, origin, ends } = fact ?? NO_FACT;
  const validTo = ends.find(({ by }) => by === null)?.validTo ?? null;
  return { validFrom, validTo, expiresAt, supersedes, tags, origin };
}

/**
 * A fact with fields that were written; those that are left out stay. Its origin becomes no more trustworthy here by what it
 * supersedes. Errors: `INVALID_ARGUMENT`, `INVALID_TEXT`.
 */
export function changedFact(before: KeptFact, key: string, fields: EntryFields, now: string): KeptFact {
  const { origin = before.origin } = fields;
  if (origin !== null && !FACT_ORIGINS.includes(origin)) {
    throw invalid(`The origin of an entry is one of ${FACT_ORIGINS.join(", ")}, or null.`, { key, origin });
  }
  const time = (name: "validFrom" | "validTo" | "expiresAt") => {
    const given = fields[name];
    return given === undefined || given === null ? given : timeIn(given, name, key);
  };
  const {
    validFrom = before.validFrom,
    expiresAt = before.expiresAt,
    validTo,
  } = {
    validFrom: time("validFrom"),
    expiresAt: time("expiresAt"),
    validTo: time("validTo"),
  };
  const fact: KeptFact = {
    validFrom,
    expiresAt,
    supersedes: textsIn(fields.supersedes, "supersedes", key) ?? before.supersedes,
    tags: textsIn(fields.tags, "tags", key) ?? before.tags,
    origin,
    ends: validTo === undefined ? before.ends : endedBy(before.ends, null, validTo, now),
  };
  const own = fact.ends.find(({ by }) => by === null);
  if (validFrom !== null && own !== undefined && own.validTo < validFrom) {
    const message = `Entry "${key}" cannot end before it begins: give a validTo at its validFrom or later.`;
    throw invalid(message, { key, validFrom, validTo: own.validTo });
  }
  return fact;
}

/** The ends of a fact with another one by a successor, or by itself (null); without it where the time is null. */
export function endedBy(ends: readonly EntryEnd[], by: string | null, validTo: string | null, now: string): EntryEnd[] {
  const others = ends.filter((end) => end.by !== by);
  if (validTo === null) return others;
  const known = ends.find((end) => end.by === by);
  // When it was learned stays known as long as it is so.
  const isKnown = known?.validTo === validTo || (known !== undefined && by !== null);
  return [...others, { validTo, invalidatedAt: isKnown ? known.invalidatedAt : now, by }];
}

/** Ends of a copy from elsewhere. Errors: `INVALID_ARGUMENT`. */
export function checkedEnds(ends: readonly EntryEnd[]): readonly EntryEnd[] {
  if (Array.isArray(ends) && ends.every(isEnd)) return ends;
  throw invalid("The ends of an entry are objects with validTo, invalidatedAt and by, as a read gives them.");
}

/** The least trustworthy of origins; null where all are unknown. */
export function weakest(origins: readonly (FactOrigin | null)[]): FactOrigin | null {
  return FACT_ORIGINS.findLast((origin) => origins.includes(origin)) ?? null;
}

/** A time of the world as it is stored. Errors: `INVALID_ARGUMENT`. */
export function timeIn(given: string, name: string, key?: string): string {
  const time = findTime(given);
  if (time !== null) return time;
  const isText = typeof given === "string";
  const got = isText ? quote(shorten(given, LONGEST)) : typeof given === "number" ? given : kindOf(given);
  const message = `${name} must be a date (2026-06-01), or a time with its zone (2026-06-01T12:00Z), from the year 0 to 9999; got ${got}.`;
  throw invalid(message, { ...(key !== undefined && { key }), [name]: given });
}

/** Characters of what is no time that are told. */
const LONGEST = 40;

const TIME = /^(\d{4}-\d{2}-\d{2})(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2}))?$/;

function findTime(given: unknown): string | null {
  const day = typeof given === "string" ? TIME.exec(given)?.[1] : undefined;
  if (day === undefined) return null;
  const [date, time] = [new Date(`${day}T00:00Z`), new Date(given as string)];
  if (Number.isNaN(date.getTime()) || Number.isNaN(time.getTime())) return null;
  // Date takes February 30 for a day of March. A zone may lead to a year of more digits.
  const text = time.toISOString();
  return date.toISOString().startsWith(day) && text.length === STORED_LENGTH ? text : null;
}

const STORED_LENGTH = "2026-06-01T12:00:00.000Z".length;

function textsIn(texts: readonly string[] | undefined, name: string, key: string): readonly string[] | undefined {
  if (texts === undefined) return undefined;
  const isList = Array.isArray(texts) && texts.every((text) => typeof text === "string" && text !== "");
  if (!isList) {
    throw invalid(`${name} of an entry must be a list of texts that are not empty; got ${kindOf(texts)}.`, { key });
  }
  for (const text of texts) assertStorableText(text, `An entry's ${name}`);
  return [...new Set(texts)];
}
