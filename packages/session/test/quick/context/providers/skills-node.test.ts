import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { isSkillProvider, shapeOf } from "../../../../src/context/provider.js";
import { FileSkillProvider, type SkillProblem } from "../../../../src/context/providers/skills-node.js";

let root: string;
let folder: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "stemma-skills-"));
  folder = join(root, "skills");
  vi.spyOn(console, "warn").mockImplementation(() => {});
});

afterEach(async () => {
  vi.restoreAllMocks();
  await rm(root, { recursive: true });
});

async function put(path: string, content: string | Uint8Array): Promise<void> {
  const file = join(folder, path);
  await mkdir(join(file, ".."), { recursive: true });
  await writeFile(file, content);
}

const deploy = "---\nname: deploy\ndescription: Deploys: to production\n---\n\n# Deploy\n\nGo.\n";

describe("FileSkillProvider", () => {
  it("lists the skills of a folder by name, with their descriptions on one line", async () => {
    await put("deploy/SKILL.md", deploy);
    await put("api/SKILL.md", "---\nname: api\ndescription: >\n  The API,\n  in short.\n\n  With more.\n---\nText");
    await put("bare/SKILL.md", "no front matter");
    await put("empty/README.md", "no skill");
    await put("stray.md", "no folder");
    await put(".git/SKILL.md", deploy);
    expect(await new FileSkillProvider(folder).get()).toBe(
      "- api: The API, in short. With more.\n- bare\n- deploy: Deploys: to production",
    );
  });

  it("holds nothing where there is no folder", async () => {
    const skills = new FileSkillProvider(join(root, "absent"));
    expect(await skills.get()).toBeNull();
    expect(await skills.load("deploy")).toBeNull();
  });

  it("loads the instructions without the front matter", async () => {
    await put("deploy/SKILL.md", deploy);
    const skills = new FileSkillProvider(folder);
    expect(await skills.load("deploy")).toBe("# Deploy\n\nGo.\n");
    expect(await skills.load("other")).toBeNull();
  });

  it("names a skill's other files and loads them by those keys", async () => {
    await put("deploy/SKILL.md", deploy);
    await put("deploy/references/hosts.md", "host-1");
    await put("deploy/scripts/run.sh", "#!/bin/sh");
    await put("deploy/.env", "SECRET");
    await put("deploy/logo.png", new Uint8Array([137, 80, 78, 71, 0, 255]));
    const skills = new FileSkillProvider(folder);
    expect(await skills.load("deploy")).toBe(
      "# Deploy\n\nGo.\n\nOther files of this skill, to be loaded by these keys:\n- deploy/logo.png\n- deploy/references/hosts.md\n- deploy/scripts/run.sh",
    );
    expect(await skills.load("deploy/references/hosts.md")).toBe("host-1");
    for (const path of [
      ".env",
      "logo.png",
      "references",
      "absent.md",
      "references/hosts.md/x",
      "",
      "a\0b",
      "x".repeat(5000),
    ]) {
      expect(await skills.load(`deploy/${path}`)).toBeNull();
    }
  });

  it("never leaves the folder, nor the skill's own", async () => {
    await writeFile(join(root, "secret.md"), "SECRET");
    await mkdir(join(root, "outside"));
    await writeFile(join(root, "outside", "SKILL.md"), "---\nname: outside\n---\nSECRET");
    await put("deploy/SKILL.md", deploy);
    await put("other/SKILL.md", "OTHER");
    await symlink(join(root, "outside"), join(folder, "linked"));
    await symlink(join(root, "secret.md"), join(folder, "deploy", "secret.md"));
    await symlink(root, join(folder, "deploy", "up"));
    await put("evil/notes.md", "x");
    await symlink(join(root, "secret.md"), join(folder, "evil", "SKILL.md"));
    const skills = new FileSkillProvider(folder);
    expect(await skills.get()).toBe("- deploy: Deploys: to production\n- other");
    const keys = [
      "../secret.md",
      "..",
      "deploy/../../secret.md",
      "deploy/../other/SKILL.md",
      "deploy/secret.md",
      "deploy/up/secret.md",
    ];
    for (const key of [
      ...keys,
      "linked",
      "outside",
      "evil",
      "/etc/passwd",
      join(root, "secret.md"),
      "deploy//etc/passwd",
    ]) {
      expect(await skills.load(key)).toBeNull();
    }
  });

  it("follows links that stay inside", async () => {
    await put("deploy/SKILL.md", deploy);
    await put("deploy/real.md", "real");
    await symlink(join(folder, "deploy", "real.md"), join(folder, "deploy", "link.md"));
    expect(await new FileSkillProvider(folder).load("deploy/link.md")).toBe("real");
  });

  it("gives two skills of one name different keys", async () => {
    await put("a/SKILL.md", "---\nname: b\n---\nfrom a");
    await put("b/SKILL.md", "---\nname: b\n---\nfrom b");
    const skills = new FileSkillProvider(folder);
    expect(await skills.get()).toBe("- a\n- b");
    expect(await skills.load("a")).toBe("from a");
    expect(await skills.load("b")).toBe("from b");
  });

  it("keeps to the keys it was given", async () => {
    await put("deploy/SKILL.md", deploy);
    await put("secret/SKILL.md", "---\nname: secret\n---\nx");
    const skills = new FileSkillProvider(folder, { keys: ["deploy"], writable: true });
    expect(await skills.get()).toBe("- deploy: Deploys: to production");
    expect(await skills.load("secret")).toBeNull();
    await expect(skills.set?.("secret", "y")).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });
});

describe("what is wrong with skills", () => {
  const told: SkillProblem[] = [];
  const onProblem = (problem: SkillProblem) => void told.push(problem);
  const outside = () => join(root, "agents");
  const say = (name: string) => `---\nname: ${name}\ndescription: About ${name}\n---\nBody of ${name}`;

  beforeEach(async () => {
    told.length = 0;
    await mkdir(join(outside(), "shared", "references"), { recursive: true });
    await writeFile(join(outside(), "shared", "SKILL.md"), say("shared"));
    await writeFile(join(outside(), "shared", "references", "a.md"), "A");
    await put("own/SKILL.md", say("own"));
  });

  it("is told of a link to another folder, unless that is allowed", async () => {
    await symlink("../agents/shared", join(folder, "shared"));
    const path = join(folder, "shared");
    const refusing = new FileSkillProvider(folder, { onProblem });
    expect(await refusing.get()).toBe("- own: About own");
    expect(await refusing.load("shared")).toBeNull();
    expect(told).toEqual([{ path, message: expect.stringContaining(`{ roots: ["${outside()}"] }`) }]);
    const allowing = new FileSkillProvider(folder, { roots: [join(root, "absent"), outside()], writable: true });
    expect(await allowing.get()).toBe("- own: About own\n- shared: About shared");
    expect(await allowing.load("shared")).toContain("Body of shared");
    expect(await allowing.load("shared/references/a.md")).toBe("A");
    await expect(allowing.set?.("shared", "new")).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    expect(await readFile(join(outside(), "shared", "SKILL.md"), "utf8")).toBe(say("shared"));
  });

  it("is no secret of another folder, where one is allowed", async () => {
    await writeFile(join(root, "secret.md"), "SECRET");
    await symlink(join(outside(), "shared"), join(folder, "shared"));
    await symlink(join(root, "secret.md"), join(outside(), "shared", "secret.md"));
    await symlink(outside(), join(folder, "own", "agents"));
    const skills = new FileSkillProvider(folder, { roots: [outside()] });
    for (const key of ["shared/secret.md", "shared/../../secret.md", "own/agents/../secret.md"]) {
      expect(await skills.load(key)).toBeNull();
    }
    expect(await skills.load("own/agents/shared/references/a.md")).toBe("A");
  });

  it("lists a skill once, however many links lead to it", async () => {
    await symlink(join(folder, "own"), join(folder, "alias"));
    await symlink(join(outside(), "shared"), join(folder, "a"));
    await symlink(join(outside(), "shared"), join(folder, "b"));
    const skills = new FileSkillProvider(folder, { roots: [outside()], onProblem });
    expect(await skills.get()).toBe("- own: About own\n- shared: About shared");
    expect(told).toEqual([]);
  });

  it("is told of what is left out", async () => {
    await symlink(join(root, "nothing"), join(folder, "gone"));
    await mkdir(join(folder, "far"));
    await symlink(join(outside(), "shared", "SKILL.md"), join(folder, "far", "SKILL.md"));
    await mkdir(join(folder, "lost"));
    await symlink(join(root, "nothing"), join(folder, "lost", "SKILL.md"));
    await put("small/skill.md", say("small"));
    await put("bytes/SKILL.md", new Uint8Array([0, 255]));
    await put("large/SKILL.md", "x".repeat(1_000_001));
    // No skills.
    await put("notes/README.md", "Notes");
    await put("README.md", "Notes");
    await symlink(join(folder, "README.md"), join(folder, "link.md"));
    const skills = new FileSkillProvider(folder, { onProblem });
    expect(await skills.get()).toBe("- own: About own");
    expect(told.map(({ path }) => path.slice(folder.length + 1)).sort()).toEqual([
      "bytes",
      "far",
      "gone",
      "large",
      "lost",
      "small",
    ]);
    for (const { message } of told) expect(message).toMatch(/^The skill is left out: .*\.$/);
    await skills.get();
    await skills.load("own");
    expect(told).toHaveLength(6);
    told.length = 0;
    await new FileSkillProvider(folder, { keys: ["own", "small"], onProblem }).get();
    expect(told.map(({ path }) => path)).toEqual([join(folder, "small")]);
  });

  it("is told of what is listed otherwise than the file says", async () => {
    await put("beta/SKILL.md", "---\nname: beta\ndescription: [Beta] Deploys\n---\nB");
    await put("open/SKILL.md", "---\nname: open\ndescription: No end\n\nB");
    await put("path/SKILL.md", "---\nname: a/b\ndescription: P\n---\nB");
    await put("twin/SKILL.md", "---\nname: own\ndescription: T\n---\nB");
    const skills = new FileSkillProvider(folder, { onProblem });
    expect(await skills.get()).toBe("- beta: [Beta] Deploys\n- open\n- own: About own\n- path: P\n- twin: T");
    expect(told.map(({ path }) => path.slice(folder.length + 1)).sort()).toEqual(["beta", "open", "path", "twin"]);
  });

  it("refuses roots that are no list of folders", () => {
    for (const roots of ["x", [1], {}] as unknown as string[][])
      expect(() => new FileSkillProvider(folder, { roots })).toThrow("{ roots: [folder] }");
  });

  it("is one warning where nobody is told", async () => {
    await put("a/SKILL.md", "---\nname: a\ndescription: @a\n---\nB");
    await put("b/SKILL.md", "---\nname: b\ndescription: *b*\n---\nB");
    const skills = new FileSkillProvider(folder);
    await Promise.all([skills.get(), skills.get(), skills.load("a")]);
    expect(await skills.get()).toBe("- a: @a\n- b: *b*\n- own: About own");
    expect(vi.mocked(console.warn).mock.calls).toEqual([[expect.stringMatching(/skills\/a: .*\n.*skills\/b: /)]]);
  });
});

describe("a writable FileSkillProvider", () => {
  it("is the only one that can be written", () => {
    expect(shapeOf(new FileSkillProvider(folder)).writable).toBe(false);
    const writable = new FileSkillProvider(folder, { writable: true });
    expect(shapeOf(writable).writable).toBe(true);
    expect(isSkillProvider(writable)).toBe(true);
  });

  it("writes new skills and reads them back", async () => {
    const skills = new FileSkillProvider(folder, { writable: true });
    await skills.set?.("deploy-checklist", "# Steps\n", 'With "quotes": and\nbreaks');
    expect(await skills.get()).toBe('- deploy-checklist: With "quotes": and breaks');
    expect(await skills.load("deploy-checklist")).toBe("# Steps\n");
    expect(await readdir(join(folder, "deploy-checklist"))).toEqual(["SKILL.md"]);
  });

  it("keeps the description and the other fields when it updates", async () => {
    await put(
      "x/SKILL.md",
      "---\nname: deploy\nlicense: MIT\nmetadata:\n  author: me\ndescription: Old\ntags:\n- a\n- b\n---\nold",
    );
    const skills = new FileSkillProvider(folder, { writable: true });
    await skills.set?.("deploy", "new");
    expect(await readFile(join(folder, "x", "SKILL.md"), "utf8")).toBe(
      '---\nname: deploy\ndescription: "Old"\nlicense: MIT\nmetadata:\n  author: me\ntags:\n- a\n- b\n---\n\nnew',
    );
  });

  it("takes front matter that the model wrote for what it is", async () => {
    const skills = new FileSkillProvider(folder, { writable: true });
    await skills.set?.("deploy", "---\nname: other\ndescription: Mine\n---\nbody");
    expect(await skills.get()).toBe("- deploy: Mine");
    expect(await skills.load("deploy")).toBe("body");
  });

  it("refuses names that are none, and folders that lead outside", async () => {
    await mkdir(folder, { recursive: true });
    await mkdir(join(root, "outside"));
    await symlink(join(root, "outside"), join(folder, "linked"));
    const skills = new FileSkillProvider(folder, { writable: true });
    for (const key of ["../x", "a/b", "A", "", ".x", "日本語", "a--b", "x".repeat(65), "linked"]) {
      await expect(skills.set?.(key, "x")).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    }
    expect(await readdir(join(root, "outside"))).toEqual([]);
  });

  it("replaces a link that stands for the file, and leaves what it leads to alone", async () => {
    await writeFile(join(root, "secret.md"), "SECRET");
    await mkdir(join(folder, "deploy"), { recursive: true });
    await symlink(join(root, "secret.md"), join(folder, "deploy", "SKILL.md"));
    await new FileSkillProvider(folder, { writable: true }).set?.("deploy", "new");
    expect(await readFile(join(root, "secret.md"), "utf8")).toBe("SECRET");
    expect(await new FileSkillProvider(folder).load("deploy")).toBe("new");
  });
});
