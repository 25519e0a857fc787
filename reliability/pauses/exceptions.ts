/** A call that holds the event loop longer than others: for how many milliseconds at most at 100,000 messages, and by what. */
interface Exception {
  readonly most: number;
  readonly by: string;
}

const VACUUM: Exception = { most: 400, by: "VACUUM, one statement that writes the whole file" };
const COPY: Exception = {
  most: 400,
  by: "VACUUM INTO, one statement that copies the whole file, and its integrity_check",
};
const CHECK: Exception = { most: 300, by: "PRAGMA integrity_check, one statement that reads the whole file" };
const MODEL: Exception = {
  most: 1_500,
  by: "streamText of the AI SDK, which checks all messages of a request in one piece and makes the provider's of them in another",
};
const COMMIT: Exception = {
  most: 150,
  by: "COMMIT, one statement that writes all that a call changed to the log, and wal_checkpoint, one that writes it to the file",
};

/** Calls that cannot be divided. docs/stores/sqlite.md names it. */
export const EXCEPTIONS: Readonly<Record<string, Exception>> = {
  "SessionManager scrub": VACUUM,
  "Store scrub": VACUUM,
  "Session deleteMessages": COMMIT,
  "SessionManager deleteMessages": COMMIT,
  "studio delete-messages": COMMIT,
  "studio delete-branch": COMMIT,
  "copy importSession": COMMIT,
  "Store backup": COPY,
  "Store check": CHECK,
  "chat POST /": MODEL,
};
