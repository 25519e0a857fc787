import { invalid, reasonOf } from "../errors.js";

/**
 * Reads variables of the environment from a file of lines like `NAME=value`. Those that are set stay as they are.
 * Errors: `INVALID_ARGUMENT` for a file that cannot be read.
 */
export function loadVariables(path: string): void {
  try {
    process.loadEnvFile(path);
  } catch (error) {
    throw invalid(`The file of --dotenv cannot be read: ${reasonOf(error)}`, { path }, { cause: error });
  }
}
