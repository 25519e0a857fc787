import { invalid } from "../../errors.js";
import { codeOf, files, paths } from "../../files/replace-file.js";

/** True for a path in `root` or below it, both free of links. */
export async function isWithin(root: string, path: string): Promise<boolean> {
  const { isAbsolute, relative, sep } = await paths();
  const way = relative(root, path);
  return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

/** Free of links; null when there is nothing. A link that leads nowhere is refused: writing through it could land anywhere. */
export async function realPath(path: string): Promise<string | null> {
  const { lstat, realpath } = await files();
  try {
    return await realpath(path);
  } catch (error) {
    const code = codeOf(error);
    if (code === "ENOTDIR") throw invalid(`${path} lies below a file.`, { path });
    if (code !== "ENOENT") throw error;
    const link = await lstat(path).catch(() => null);
    if (link === null) return null;
    throw invalid(`${path} is a link that leads nowhere.`, { path });
  }
}
