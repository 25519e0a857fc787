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
  most: 2_500,
  by: "streamText of the AI SDK, which checks all messages of a request in one piece and makes the provider's of them in another",
};
const COMMIT: Exception = {
  most: 200,
  by: "COMMIT, one statement that writes all that a call changed to the log, and wal_checkpoint, one that writes it to the file",
};

/** Calls that store or remove as much as the whole session. */
const WRITERS = [
  "Session appendAll",
  "Session deleteMessages",
  "SessionManager appendAll",
  "SessionManager deleteMessages",
  "SessionManager fork",
  "Store session().append",
  "Store session().delete",
  "Store session().importTree",
  "Store sessions.fork",
  "Store writeTogether",
  "chat DELETE /:id",
  "copy copyStore",
  "copy importSession",
  "copy jsonl",
  "studio delete-branch",
  "studio delete-messages",
  "studio delete-session",
  "studio fork",
];

/** Calls that cannot be divided. docs/stores/sqlite.md names them. */
export const EXCEPTIONS: Readonly<Record<string, Exception>> = {
  "SessionManager scrub": VACUUM,
  "Store scrub": VACUUM,
  ...Object.fromEntries(WRITERS.map((name) => [name, COMMIT])),
  "Store backup": COPY,
  "Store check": CHECK,
  "chat POST /": MODEL,
};
