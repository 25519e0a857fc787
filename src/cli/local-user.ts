import { userInfo } from "node:os";

/** Who uses the command line: `STEMMA_USER`, else the name of the user of this machine, else `local`. */
export function localUser(): string {
  if (process.env.STEMMA_USER) return process.env.STEMMA_USER;
  try {
    return userInfo().username;
  } catch {
    // A container can run as a user that has no name.
    return "local";
  }
}
