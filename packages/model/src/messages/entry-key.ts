import { sha256 } from "./sha256.js";

const MAX_SLUG_LENGTH = 60;
const HASH_LENGTH = 12;
/** A slug that is a key by itself may have the length of one with a hash: a key that was shown can be used as title. */
const MAX_KEY_LENGTH = MAX_SLUG_LENGTH + 1 + HASH_LENGTH;

/**
 * The key of the entry with this title: its slug where nothing but case and spacing is lost in it (`Deploy Checklist` is
 * `deploy-checklist`), else the slug and a short hash. Titles that differ in more than case and spacing have different keys.
 */
export function keyOfTitle(title: string): string {
  const slug = slugOf(title);
  const folded = title
    .trim()
    .toLowerCase()
    .replace(/[\s-]+/gu, "-");
  return slug === folded && slug.length <= MAX_KEY_LENGTH ? slug : withHash(slug, folded);
}

/** The key of an entry without a title: its first words and a hash, so that the same content is the same entry. */
export function keyOfContent(content: string): string {
  return withHash(slugOf(content.slice(0, 200).trim().split(/\s+/u).slice(0, 6).join(" ")), content);
}

/** Lower-case letters and digits of any script, `.` and `_`; everything else becomes single hyphens. */
function slugOf(text: string): string {
  const slug = text
    .normalize("NFKC")
    .toLowerCase()
    // One by one: a run of megabytes would overflow the stack.
    .replace(/[^\p{L}\p{M}\p{N}._]/gu, "-")
    .replace(/-+/g, "-");
  return trimSlug(slug);
}

function trimSlug(slug: string): string {
  return slug.replace(/^[-.]+/, "").replace(/(?<![-.])[-.]+$/, "");
}

function withHash(slug: string, text: string): string {
  const hash = sha256(text).slice(0, HASH_LENGTH);
  const short = trimSlug(slug.slice(0, MAX_SLUG_LENGTH).toWellFormed());
  return short === "" ? hash : `${short}-${hash}`;
}
