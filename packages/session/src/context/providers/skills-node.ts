import { mkdir, readdir, realpath, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { check, defineOptions, invalid } from "@stemma/model";
import { findRealPath, isHidden, listFiles, readText, replaceFile, within } from "@stemma/model/files";
import type { SkillProvider } from "../provider.js";
import { type FrontMatterEntry, fieldOf, readFrontMatter } from "./front-matter.js";
import { skillListing } from "./r2-skills.js";

export interface FileSkillOptions {
  /** Only these skills are listed, loaded and written, by name. Default: all. */
  keys?: readonly string[] | undefined;
  /** Let the model write skills (`set_context`). Default: false. */
  writable?: boolean | undefined;
  /** Other folders that symbolic links may lead to, to be read. Default: none, so that nothing outside the folder is read. */
  roots?: readonly string[] | undefined;
  /** Called once for each skill that is left out, or listed otherwise than its file says. Default: `console.warn`. */
  onProblem?: ((problem: SkillProblem) => void) | undefined;
}

/** A fault of a skill, with advice. */
export interface SkillProblem {
  readonly message: string;
  /** The folder of the skill, as it is called in the folder of skills. */
  readonly path: string;
}

const OPTIONS = defineOptions<FileSkillOptions>({
  keys: check.texts("names"),
  writable: check.flag,
  roots: check.texts("folders: { roots: [folder] }"),
  onProblem: check.callable,
});
const SKILL_FILE = "SKILL.md";
/** Files of a skill that are named at the end of it. */
const MAX_LISTED_FILES = 100;
/**
 * Skills in a folder, in the open Agent Skills layout: each subfolder holds a `SKILL.md` with `name` and `description` in
 * its front matter, and whatever files go with it. A skill's key is its name, or its folder's where it has none or one
 * that another skill has. A description that is no text in YAML is listed as it is written. Files are read anew each time.
 * Nothing outside the folder is ever written, nor read but in `roots`, whatever keys or symbolic links say.
 */
export class FileSkillProvider implements SkillProvider {
  /**
   * Writes a skill's `SKILL.md`. Present only with `{ writable: true }`. Errors: `INVALID_ARGUMENT` for a name that is not
   * allowed, or whose folder lies outside the skills' folder; those of the file system.
   */
  readonly set?: (key: string, content: string, description?: string) => Promise<void>;
  readonly #folder: string;
  readonly #keys: ReadonlySet<string> | null;
  readonly #roots: readonly string[];
  readonly #onProblem: FileSkillOptions["onProblem"];
  readonly #reported = new Set<string>();

  /** Reads nothing yet. Errors: `INVALID_ARGUMENT` for an option that there is not, and for `roots` that are no list of folders. */
  constructor(folder: string, options: FileSkillOptions = {}) {
    OPTIONS.assert(options, "FileSkillProvider");
    this.#folder = folder;
    this.#keys = options.keys ? new Set(options.keys) : null;
    this.#roots = options.roots ?? [];
    this.#onProblem = options.onProblem;
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
    if (path.length > 0) return readText(await within(join(skill.folder, ...path), skill.folder, ...skill.roots));
    const files = (await listFiles(skill.folder)).filter((file) => file !== SKILL_FILE);
    if (files.length === 0) return skill.body;
    const shown = files.slice(0, MAX_LISTED_FILES).map((file) => `- ${name}/${file}`);
    const rest = files.length - shown.length;
    if (rest > 0) shown.push(`(and ${rest} more)`);
    return `${skill.body.trimEnd()}\n\nOther files of this skill, to be loaded by these keys:\n${shown.join("\n")}`;
  }

  async #skills(): Promise<Map<string, Skill>> {
    const root = await findRealPath(this.#folder);
    if (root === null) return new Map();
    const others = await Promise.all(this.#roots.map(findRealPath));
    const roots = others.filter((other) => other !== null);
    const entries = (await readdir(root, { withFileTypes: true }))
      .filter((entry) => (entry.isDirectory() || entry.isSymbolicLink()) && !entry.name.startsWith("."))
      .map((entry) => entry.name)
      .sort();
    const problems: SkillProblem[] = [];
    const tell: Tell = (entry, message) => {
      if (this.#keys?.has(entry) !== false) problems.push({ message, path: join(this.#folder, entry) });
    };
    const found = await Promise.all(entries.map((entry) => readSkill(root, entry, roots, tell)));
    const skills = byKey(found, tell);
    // The files were read beside each other.
    this.#report(problems.sort((a, b) => (a.path < b.path ? -1 : Number(a.path > b.path))));
    if (this.#keys) for (const key of [...skills.keys()]) if (!this.#keys.has(key)) skills.delete(key);
    return skills;
  }

  // The same ones are found with each call.
  #report(problems: readonly SkillProblem[]): void {
    const isNew = ({ message, path }: SkillProblem) => !this.#reported.has(`${path}\n${message}`);
    const news = problems.filter(isNew);
    for (const { message, path } of news) this.#reported.add(`${path}\n${message}`);
    if (this.#onProblem !== undefined) for (const problem of news) this.#onProblem(problem);
    else if (news.length > 0) console.warn(news.map(({ message, path }) => `${path}: ${message}`).join("\n"));
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

type Tell = (entry: string, message: string) => void;

interface Skill {
  readonly key: string;
  /** The name of its folder in the folder of skills. */
  readonly entry: string;
  readonly description: string | undefined;
  /** The front matter beside name and description. */
  readonly others: readonly FrontMatterEntry[];
  readonly body: string;
  /** Its real path. */
  readonly folder: string;
  /** Where its links may lead: real paths. */
  readonly roots: readonly string[];
}

async function readSkill(root: string, entry: string, others: readonly string[], tell: Tell): Promise<Skill | null> {
  const leaveOut = (why: string) => tell(entry, `The skill is left out: ${why}`);
  const outside = (what: string, real: string) =>
    leaveOut(`${what} a link to "${real}". To allow it, pass { roots: [${JSON.stringify(dirname(real))}] }.`);
  const path = join(root, entry);
  const real = await findRealPath(path);
  if (real === null) leaveOut("it is a link to nothing.");
  if (real === null || !(await stat(real)).isDirectory()) return null;
  const folder = await within(path, root, ...others);
  if (folder === null) {
    outside("it is", real);
    return null;
  }
  const roots = [folder, ...others];
  const file = await within(join(folder, SKILL_FILE), ...roots);
  if (file === null) {
    const target = await findRealPath(join(folder, SKILL_FILE));
    const name = (await readdir(folder)).find((each) => each.toLowerCase() === SKILL_FILE.toLowerCase());
    if (target !== null) outside(`its ${SKILL_FILE} is`, target);
    else if (name === SKILL_FILE) leaveOut(`its ${SKILL_FILE} is a link to nothing.`);
    else if (name !== undefined) leaveOut(`its ${name} must be called ${SKILL_FILE}.`);
    return null;
  }
  const text = await readText(file);
  if (text === null) leaveOut(`its ${SKILL_FILE} is no text in UTF-8 of at most 1 MB.`);
  return text === null ? null : { ...parseSkill(text, entry, tell), folder, roots };
}

function parseSkill(text: string, entry: string, tell: Tell): Omit<Skill, "folder" | "roots"> {
  const { entries, body } = readFrontMatter(text);
  if (body === text && text.startsWith("---")) tell(entry, "The front matter does not end: a line --- is missing.");
  const field = (name: string) => entries.findLast((each) => each.name === name);
  const [name, description] = [field("name"), field("description")];
  const key = name?.value?.trim() ?? "";
  const isKey = key !== "" && name?.isAsWritten === false && !/[/\n]/.test(key);
  if (key !== "" && !isKey) tell(entry, `The name "${key}" cannot be a key. The skill is listed as "${entry}".`);
  if (description?.isAsWritten === true) {
    const advice = `Write "description: >-", and the text indented on the next line.`;
    tell(entry, `The description is no text in YAML. It is listed as it is written. ${advice}`);
  }
  return {
    key: isKey ? key : entry,
    entry,
    description: description?.value ?? undefined,
    others: entries.filter((each) => each.name !== "name" && each.name !== "description"),
    body,
  };
}

function byKey(found: readonly (Skill | null)[], tell: Tell): Map<string, Skill> {
  // Links may lead to one skill several times; by its own folder it is called as that is.
  const isOwn = ({ entry, folder }: Skill) => Number(entry === basename(folder));
  const all = found.filter((skill) => skill !== null).sort((a, b) => isOwn(a) - isOwn(b));
  const named = [...new Map(all.map((skill) => [skill.folder, skill])).values()];
  const skills = new Map<string, Skill>();
  // The folder's own name comes first: it is unique.
  for (const skill of named) if (skill.key === skill.entry) skills.set(skill.key, skill);
  for (const skill of named) {
    if (skills.get(skill.key) === skill) continue;
    const key = skills.has(skill.key) ? skill.entry : skill.key;
    const outcome = skills.has(key) ? "This one is left out" : `This one is listed as "${key}"`;
    if (key !== skill.key) tell(skill.entry, `Another skill is called "${skill.key}" too. ${outcome}.`);
    if (!skills.has(key)) skills.set(key, { ...skill, key });
  }
  return skills;
}
