import { existsSync, readdirSync, rmdirSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { assertDatabase, assertOurs, type DatabaseOptions, isThere, openDatabase, placeOf } from "../open-database.js";
import { ofTheServer, type TenantPlaces } from "./tenant-places.js";

/** Stands for a tenant's name in a path. */
const TENANT = "{tenant}";
/** The files of SQLite. That of the database goes last: while it is there, something is left. */
const FILES = ["-wal", "-shm", "-journal", ""];

/** A SQLite file for each tenant, at `place`. */
export function tenantFiles(place: string, own: DatabaseOptions): TenantPlaces {
  const fileOf = (tenant: string) => place.replaceAll(TENANT, tenant);
  const assertTheirs = (tenant: string, db: string) => {
    if (!isThere({ db })) return;
    if (isSameFile(db, placeOf(own.db))) throw ofTheServer(tenant);
    assertOurs({ db });
  };
  return {
    open: (tenant) => {
      const db = fileOf(tenant);
      assertTheirs(tenant, db);
      return openDatabase({ db });
    },
    names: () =>
      namesIn(place).filter((tenant) => {
        const db = fileOf(tenant);
        return existsSync(db) && !isSameFile(db, placeOf(own.db));
      }),
    remove: (tenant) => {
      const db = fileOf(tenant);
      assertTheirs(tenant, db);
      const wasStored = existsSync(db);
      if (wasStored) assertDatabase(db);
      for (const ending of FILES) rmSync(db + ending, { force: true });
      if (dirname(place).includes(TENANT)) removeFolder(dirname(db));
      return wasStored;
    },
  };
}

/** The names that stand where a place has a tenant's for the first time. */
function namesIn(place: string): string[] {
  const [before = "", rest = ""] = place.split(TENANT);
  const cut = Math.max(before.lastIndexOf("/"), before.lastIndexOf("\\")) + 1;
  const [start, folder] = [before.slice(cut), before.slice(0, cut) || "."];
  const [end = ""] = rest.split(/[/\\]/);
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return names.flatMap((name) => {
    const isOne = name.startsWith(start) && name.endsWith(end);
    const tenant = name.slice(start.length, name.length - end.length);
    return isOne && /^[a-z\d][a-z\d_-]{0,47}$/.test(tenant) ? [tenant] : [];
  });
}

/** Removes a tenant's folder where nothing else is in it. */
function removeFolder(path: string): void {
  if (existsSync(path) && readdirSync(path).length === 0) rmdirSync(path);
}

function isSameFile(path: string, other: string): boolean {
  const [one, two] = [path, other].map((each) => statSync(each, { throwIfNoEntry: false }));
  return one !== undefined && one.dev === two?.dev && one.ino === two.ino;
}
