import { codeOf } from "./replace-file.js";

/** What is read of a file or a folder; null where that is not there, or not any more. */
export async function ifThere<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    throw error;
  }
}
