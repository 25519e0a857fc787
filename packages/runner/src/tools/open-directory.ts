import type { Dirent } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { invalid } from "@stemma/model";
import { codeOf, files, paths } from "@stemma/model/files";

/**
 * A directory that is held open, so that what is put in its place meanwhile does not matter. On Linux what lies in it is
 * reached through the open directory itself. Elsewhere it is reached by its path, and looked at again afterwards.
 */
export class OpenDirectory {
  private constructor(
    /** Its path when it was opened, free of links. */
    readonly path: string,
    private readonly handle: FileHandle,
    /** The path by which this process reaches it. */
    private readonly reach: string,
  ) {}

  /** Opens a directory below `root`, which is free of links, step by step and without following one. */
  static async open(root: string, path: string, { create = false } = {}): Promise<OpenDirectory> {
    const { relative, sep } = await paths();
    const steps = relative(root, path).split(sep);
    let directory = await OpenDirectory.at(root, root);
    for (const step of steps) {
      if (step === "") continue;
      try {
        if (create) await directory.make(step);
        const next = await directory.enter(step);
        await directory.close();
        directory = next;
      } catch (error) {
        await directory.close();
        throw error;
      }
    }
    return directory;
  }

  private static async at(reach: string, path: string): Promise<OpenDirectory> {
    const { constants, open, readlink } = await files();
    const { O_DIRECTORY = 0, O_NOFOLLOW = 0, O_RDONLY } = constants;
    const handle = await open(reach, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    const own = `/proc/self/fd/${handle.fd}`;
    const reachable = await readlink(own).then(
      () => true,
      () => false,
    );
    return new OpenDirectory(path, handle, reachable ? own : path);
  }

  /** The path by which something in it can be opened. */
  async within(name: string): Promise<string> {
    return (await paths()).join(this.reach, name);
  }

  /** Opens a directory in it. Fails for a link. */
  async enter(name: string): Promise<OpenDirectory> {
    return OpenDirectory.at(await this.within(name), (await paths()).join(this.path, name));
  }

  async entries(): Promise<Dirent[]> {
    const { readdir } = await files();
    const entries = await readdir(this.reach, { withFileTypes: true });
    await this.assertInPlace();
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Errors: `INVALID_ARGUMENT` when the directory is no longer where it was opened. */
  async assertInPlace(): Promise<void> {
    const { readlink, stat } = await files();
    if (this.reach !== this.path) {
      if ((await readlink(this.reach)) === this.path) return;
    } else {
      const { realpath } = await files();
      const [opened, found] = await Promise.all([this.handle.stat(), stat(this.path).catch(() => null)]);
      const same = found !== null && found.ino === opened.ino && found.dev === opened.dev;
      if (same && (await realpath(this.path)) === this.path) return;
    }
    throw invalid("The directory was moved while it was used; try again.");
  }

  async close(): Promise<void> {
    await this.handle.close();
  }

  private async make(name: string): Promise<void> {
    const { mkdir } = await files();
    await mkdir(await this.within(name)).catch((error: unknown) => {
      if (codeOf(error) !== "EEXIST") throw error;
    });
  }
}
