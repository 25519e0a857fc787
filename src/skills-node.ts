import { mkdir, readdir, realpath } from "node:fs/promises";
import { basename, join } from "node:path";
import type { SkillProvider } from "./context/provider.js";
import { type FrontMatterEntry, fieldOf, readFrontMatter } from "./context/providers/front-matter.js";
import { skillListing } from "./context/providers/skill-listing.js";
import { invalid } from "./errors.js";
import { findRealPath, isHidden, listFiles, readText, within } from "./files/confined.js";
import { replaceFile } from "./files/replace-file.js";
import { assertKnownOptions } from "./known-options.js";

export interface FileSkillOptions {
  /** Only these skills are listed, loaded and written, by name. Default: all. */
  keys?: readonly string[] | undefined;
  /** Let the model write skills (`set_context`). Default: false. */
  writable?: boolean | undefined;
}

const SKILL_FILE = "SKILL.md";
/** Files of a skill that are named at the end of it. */
const MAX_LISTED_FILES = 100;
/**
 * Skills in a folder, in the open Agent Skills layout: each subfolder holds a `SKILL.md` with `name` and `description` in
 * its front matter, and whatever files go with it. A skill's key is its name, or its folder's where it has none or one
 * that another skill has. Files are read anew each time. Nothing outside the folder is ever read or written, whatever keys
 * or symbolic links say.
 */
export class FileSkillProvider implements SkillProvider {
  /**
   * Writes a skill's `SKILL.md`. Present only with `{ writable: true }`. Errors: `INVALID_ARGUMENT` for a name that is not
   * allowed, or whose folder lies outside the skills' folder; those of the file system.
   */
  readonly set?: (key: string, content: string, description?: string) => Promise<void>;
  readonly #folder: string;
  readonly #keys: ReadonlySet<string> | null;

  /** Reads nothing yet. Errors: `INVALID_ARGUMENT` for an option that there is not. */
  constructor(folder: string, options: FileSkillOptions = {}) {
    assertKnownOptions(options, "FileSkillProvider", { keys: true, writable: true });
    this.#folder = folder;
    this.#keys = options.keys ? new Set(options.keys) : null;
    if (options.writable) this.set = (key, content, description) => this.#write(key, content, description);
  }

  /** `- name: description`, one line each; null when there is none. A folder that is not there holds none. Errors: those of the file system. */
  async get(): Promise<string | null> {
    return skillListing([...(await this.#skills()).values()]);
  }

  /**
   * For a skill's name its instructions (`SKILL.md` without the front matter), with the names of its other files at the
   * end; for `name/path` one of those files. Null when there is no such skill or file, or it is no text of at most 1 MB.
   * Errors: those of the file system.
   */
  async load(key: string): Promise<string | null> {
    const [name = "", ...path] = key.split("/");
    const skill = (await this.#skills()).get(name);
    if (!skill) return null;
    if (path.some(isHidden)) return null;
    if (path.length > 0) return readText(await within(join(skill.folder, ...path), skill.folder));
    const files = (await listFiles(skill.folder)).filter((file) => file !== SKILL_FILE);
    if (files.length === 0) return skill.body;
    const shown = files.slice(0, MAX_LISTED_FILES).map((file) => `- ${name}/${file}`);
    const rest = files.length - shown.length;
    if (rest > 0) shown.push(`(and ${rest} more)`);
    return `${skill.body.trimEnd()}\n\nOther files of this skill, to be loaded by these keys:\n${shown.join("\n")}`;
  }

  async #skills(): Promise<Map<string, Skill>> {
    const root = await findRealPath(this.#folder);
    const skills = new Map<string, Skill>();
    if (root === null) return skills;
    const folders = (await readdir(root, { withFileTypes: true }))
      .filter((entry) => (entry.isDirectory() || entry.isSymbolicLink()) && !entry.name.startsWith("."))
      .map((entry) => entry.name)
      .sort();
    const found = await Promise.all(folders.map((folder) => this.#read(join(root, folder), root)));
    const named = found.flatMap((skill) => (skill === null ? [] : [skill]));
    // The folder's own name comes first: it is unique.
    for (const skill of named) if (skill.key === basename(skill.folder)) skills.set(skill.key, skill);
    for (const skill of named) {
      const key = skills.has(skill.key) ? basename(skill.folder) : skill.key;
      if (!skills.has(key)) skills.set(key, { ...skill, key });
    }
    if (this.#keys) for (const key of [...skills.keys()]) if (!this.#keys.has(key)) skills.delete(key);
    return skills;
  }

  async #read(path: string, root: string): Promise<Skill | null> {
    const folder = await within(path, root);
    const text = folder === null ? null : await readText(await within(join(folder, SKILL_FILE), folder));
    if (folder === null || text === null) return null;
    const file = readFrontMatter(text);
    const name = fieldOf(file, "name")?.trim() ?? "";
    return {
      key: name === "" || /[/\n]/.test(name) ? basename(path) : name,
      description: fieldOf(file, "description"),
      others: file.entries.filter((entry) => entry.name !== "name" && entry.name !== "description"),
      body: file.body,
      folder,
    };
  }

  async #write(key: string, content: string, description?: string): Promise<void> {
    if (!/^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(key) || key.length > 64) {
      const message = `A skill's name must consist of at most 64 lower-case letters, digits and single hyphens, as deploy-checklist. Got "${key}".`;
      throw invalid(message, { key });
    }
    if (this.#keys && !this.#keys.has(key)) {
      throw invalid(`The skill "${key}" may not be written here. Allowed are: ${[...this.#keys].join(", ")}.`, { key });
    }
    const before = (await this.#skills()).get(key);
    await mkdir(this.#folder, { recursive: true });
    const root = await realpath(this.#folder);
    const target = before?.folder ?? join(root, key);
    await mkdir(target, { recursive: true });
    const folder = await within(target, root);
    if (folder === null) throw invalid(`The folder of "${key}" lies outside the skills' folder.`, { key });
    // A model that knows the layout may write front matter of its own.
    const written = readFrontMatter(content);
    const about = description ?? fieldOf(written, "description") ?? before?.description ?? "";
    const entries = [
      `name: ${key}`,
      `description: ${JSON.stringify(about)}`,
      ...(before?.others ?? []).map((entry) => entry.source),
    ];
    await replaceFile(join(folder, SKILL_FILE), `---\n${entries.join("\n")}\n---\n\n${written.body}`);
  }
}

interface Skill {
  readonly key: string;
  readonly description: string | undefined;
  /** The front matter beside name and description. */
  readonly others: readonly FrontMatterEntry[];
  readonly body: string;
  /** Its real path. */
  readonly folder: string;
}
