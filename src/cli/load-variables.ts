import { invalid } from "../errors.js";

/**
 * Reads variables of the environment from a file of lines like `NAME=value`. Those that are set stay as they are.
 * Errors: `INVALID_ARGUMENT` for a file that cannot be read.
 */
export function loadVariables(path: string): void {
  try {
    process.loadEnvFile(path);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const message = `The file of --dotenv cannot be read: ${reason}`;
    throw invalid(message, { path }, { cause: error });
  }
}
