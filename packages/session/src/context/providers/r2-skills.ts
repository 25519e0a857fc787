import { check, defineOptions, invalid, kindOf } from "@stemma/model";
import type { SkillProvider } from "../provider.js";
import { assertName } from "./store-context.js";
/** The methods of a Cloudflare R2 bucket that are used. An `R2Bucket` binding has them. */
export interface SkillBucket {
  list(options: { prefix?: string; cursor?: string; include?: "customMetadata"[] }): Promise<SkillBucketPage>;
  head(key: string): Promise<SkillBucketObject | null>;
  get(key: string): Promise<{ text(): Promise<string> } | null>;
  put(key: string, content: string, options?: { customMetadata?: Record<string, string> }): Promise<unknown>;
}

export interface SkillBucketPage {
  objects: SkillBucketObject[];
  truncated: boolean;
  cursor?: string | undefined;
}

export interface SkillBucketObject {
  key: string;
  customMetadata?: Record<string, string> | undefined;
}

export interface R2SkillOptions {
  /** Only objects whose keys start with it; it is left out of the keys that the model sees. Usually ends with `/`. */
  prefix?: string | undefined;
  /** Only these keys, without the prefix, are listed, loaded and written. Default: all. */
  keys?: readonly string[] | undefined;
}

const OPTIONS = defineOptions<R2SkillOptions>({ prefix: check.text, keys: check.texts("keys") });

/**
 * Documents in a Cloudflare R2 bucket, one object each; an object's custom metadata `description` stands in the listing.
 * The bucket is not a session's own: every session that is given it sees the same documents.
 */
export class R2SkillProvider implements SkillProvider {
  readonly #bucket: SkillBucket;
  readonly #prefix: string;
  readonly #keys: ReadonlySet<string> | null;

  /** Reads nothing yet. Errors: `INVALID_ARGUMENT` for what is no bucket. */
  constructor(bucket: SkillBucket, options: R2SkillOptions = {}) {
    assertBucket(bucket);
    OPTIONS.assert(options, "R2SkillProvider");
    this.#bucket = bucket;
    this.#prefix = options.prefix ?? "";
    this.#keys = options.keys ? new Set(options.keys) : null;
  }

  /** `- key: description`, one line each; null when there is none. Errors: those of the bucket. */
  async get(): Promise<string | null> {
    const skills: ListedSkill[] = [];
    let cursor: string | undefined;
    do {
      const page = await this.#bucket.list({
        prefix: this.#prefix,
        include: ["customMetadata"],
        ...(cursor !== undefined && { cursor }),
      });
      skills.push(...(await Promise.all(page.objects.filter((object) => this.#shows(object)).map(this.#listed))));
      cursor = page.truncated ? page.cursor : undefined;
    } while (cursor !== undefined);
    return skillListing(skills);
  }

  /** The whole document; null when there is none under this key, or the key is not allowed. Errors: those of the bucket. */
  async load(key: string): Promise<string | null> {
    if (!this.#allows(key)) return null;
    const object = await this.#bucket.get(this.#prefix + key);
    return object === null ? null : object.text();
  }

  /**
   * Writes a document. Its other metadata stays, and its description when none is given. Errors: `INVALID_ARGUMENT` for a key
   * that is no name or not allowed, and those of the bucket.
   */
  async set(key: string, content: string, description?: string): Promise<void> {
    assertName(key, "The key of a skill");
    if (!this.#allows(key)) {
      const message = `The key "${key}" may not be written here. Allowed are: ${[...(this.#keys ?? [])].join(", ")}.`;
      throw invalid(message, { key });
    }
    const before = await this.#bucket.head(this.#prefix + key);
    const customMetadata = { ...before?.customMetadata, ...(description !== undefined && { description }) };
    await this.#bucket.put(this.#prefix + key, content, { customMetadata });
  }

  #allows(key: string): boolean {
    return key !== "" && (this.#keys === null || this.#keys.has(key));
  }

  #shows({ key }: SkillBucketObject): boolean {
    return key.startsWith(this.#prefix) && !key.endsWith("/") && this.#allows(key.slice(this.#prefix.length));
  }

  // Workers with an older compatibility date list objects without their metadata.
  readonly #listed = async ({ key, customMetadata }: SkillBucketObject): Promise<ListedSkill> => {
    const metadata = customMetadata ?? (await this.#bucket.head(key))?.customMetadata;
    return { key: key.slice(this.#prefix.length), description: metadata?.description };
  };
}

// A binding that the configuration does not name is undefined.
function assertBucket(bucket: Partial<SkillBucket> | undefined): void {
  const missing = (["list", "head", "get", "put"] as const).filter((name) => typeof bucket?.[name] !== "function");
  if (missing.length === 0) return;
  const why = missing.length === 4 ? `got ${kindOf(bucket)}` : `this one has no ${missing.join("() and no ")}()`;
  const message = `R2SkillProvider takes a bucket of R2: ${why}. Is the binding in the Worker's configuration?`;
  throw invalid(message);
}

/** One document of a listing. */
interface ListedSkill {
  readonly key: string;
  readonly description?: string | undefined;
}

/** The listing that the prompt shows: `- key: description`, one line each, by key; null when there is none. */
export function skillListing(skills: readonly ListedSkill[]): string | null {
  if (skills.length === 0) return null;
  return [...skills]
    .sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
    .map(({ key, description }) => {
      const line = description?.replace(/\s+/gu, " ").trim();
      return line ? `- ${key}: ${line}` : `- ${key}`;
    })
    .join("\n");
}
