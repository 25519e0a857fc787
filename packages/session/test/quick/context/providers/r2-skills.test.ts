import { describe, expect, it } from "vitest";
import {
  R2SkillProvider,
  type SkillBucket,
  type SkillBucketObject,
} from "../../../../src/context/providers/r2-skills.js";

/** A bucket in memory that gives `pageSize` objects a page, as R2 does with 1,000. */
function bucketOf(
  objects: Record<string, { text: string; metadata?: Record<string, string> }>,
  options: { pageSize?: number; bare?: boolean } = {},
) {
  const held = new Map(Object.entries(objects));
  const { pageSize = 2, bare = false } = options;
  const describeObject = (key: string): SkillBucketObject => ({ key, customMetadata: held.get(key)?.metadata ?? {} });
  const bucket: SkillBucket = {
    list: async ({ prefix = "", cursor = "0" }) => {
      const keys = [...held.keys()].filter((key) => key.startsWith(prefix)).sort();
      const end = Number(cursor) + pageSize;
      const page = keys.slice(Number(cursor), end).map((key) => (bare ? { key } : describeObject(key)));
      return end < keys.length
        ? { objects: page, truncated: true, cursor: String(end) }
        : { objects: page, truncated: false };
    },
    head: async (key) => (held.has(key) ? describeObject(key) : null),
    get: async (key) => {
      const object = held.get(key);
      return object ? { text: async () => object.text } : null;
    },
    put: async (key, text, put) =>
      held.set(key, { text, ...(put?.customMetadata && { metadata: put.customMetadata }) }),
  };
  return { bucket, held };
}

const objects = {
  "skills/": { text: "" },
  "skills/api-ref": { text: "API", metadata: { description: "API Reference\ndocumentation", owner: "me" } },
  "skills/deploy": { text: "Deploy", metadata: { description: "Deployment" } },
  "skills/guides/setup.md": { text: "Setup" },
  "skills/style": { text: "Style" },
  "other/secret": { text: "Secret" },
};

describe("R2SkillProvider", () => {
  it("lists all pages without the prefix, with descriptions", async () => {
    const listing = "- api-ref: API Reference documentation\n- deploy: Deployment\n- guides/setup.md\n- style";
    expect(await new R2SkillProvider(bucketOf(objects).bucket, { prefix: "skills/" }).get()).toBe(listing);
    const { bucket } = bucketOf(objects, { bare: true });
    expect(await new R2SkillProvider(bucket, { prefix: "skills/" }).get()).toBe(listing);
    expect(await new R2SkillProvider(bucket, { prefix: "none/" }).get()).toBeNull();
    expect(await new R2SkillProvider(bucket).get()).toContain("- other/secret");
  });

  it("loads by the key that it lists", async () => {
    const provider = new R2SkillProvider(bucketOf(objects).bucket, { prefix: "skills/" });
    expect(await provider.load("api-ref")).toBe("API");
    expect(await provider.load("guides/setup.md")).toBe("Setup");
    for (const key of ["skills/api-ref", "secret", ""]) expect(await provider.load(key)).toBeNull();
  });

  it("writes under the prefix, and keeps description and metadata that are not given anew", async () => {
    const { bucket, held } = bucketOf(objects);
    const provider = new R2SkillProvider(bucket, { prefix: "skills/" });
    await provider.set("api-ref", "API 2");
    expect(held.get("skills/api-ref")).toEqual({ text: "API 2", metadata: objects["skills/api-ref"].metadata });
    await provider.set("api-ref", "API 3", "New");
    expect(held.get("skills/api-ref")).toEqual({ text: "API 3", metadata: { description: "New", owner: "me" } });
    await provider.set("fresh", "Fresh", "Just made");
    expect(await provider.get()).toContain("- fresh: Just made");
  });

  it("keeps to the keys it was given", async () => {
    const { bucket, held } = bucketOf(objects);
    const provider = new R2SkillProvider(bucket, { prefix: "skills/", keys: ["deploy", "planned"] });
    expect(await provider.get()).toBe("- deploy: Deployment");
    expect(await provider.load("api-ref")).toBeNull();
    await expect(provider.set("api-ref", "x")).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    await provider.set("planned", "x");
    expect(held.get("skills/planned")?.text).toBe("x");
    await expect(new R2SkillProvider(bucket).set("", "x")).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });
});
