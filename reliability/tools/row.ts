import type { Store } from "../../packages/store/src/contract/store.js";

/** Where a row is measured. `files` is the file storage of the session runner. */
export type Engine = "SQLite" | "Postgres" | "memory" | "workerd" | "files" | "everywhere";

/** A line of the table. */
export interface Row {
  /** As the table counts it: `8`. */
  readonly number: number;
  /** What is done, and how often: `{size} kills` has the size in it. */
  readonly title: string;
  readonly target: string;
  /** The engines that it is measured on, each with how much is done in a whole run and in a quick one; 0 leaves it out. */
  readonly sizes: Readonly<Partial<Record<Engine, readonly [whole: number, quick: number]>>>;
  /** It measures a time, so no other row runs beside it. */
  readonly alone?: boolean;
  /** It needs nothing of Node: on workerd it runs in a Durable Object, see `row-worker.ts`. */
  readonly portable?: boolean;
  /** It makes file systems of its own. */
  readonly mounts?: boolean;
  run(scene: Scene): Promise<Result>;
}

export interface Result {
  /** What was counted, with its words: `0 lost`. */
  readonly figure: string;
  readonly met: boolean;
  /** What went wrong, for whoever has to find out. */
  readonly details?: unknown;
}

/** What a row works with. */
export interface Scene {
  readonly engine: Engine;
  readonly size: number;
  /** A folder of this run; it is removed afterwards. */
  readonly folder: string;
  /** Where the programs are. */
  readonly programs: string;
  /** A new place for a store: a path, or the URL of an empty database. */
  place(): Promise<string>;
  /** A store at a place. */
  open(place: string): Store;
  /** The Postgres server's superuser, and another server's queries. */
  readonly postgres: string;
}

/** One line of a row's result: 0 meets it. */
export const zero = (count: number, what: string, details?: unknown): Result => ({
  figure: `${count} ${what}`,
  met: count === 0,
  details,
});
