import { existsSync, readdirSync, rmdirSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { invalid, quote } from "@stemma/model";
import { postgresSchemas } from "@stemma/postgres/postgres";
import { Tenants, type TenantsOptions } from "@stemma/server";
import type { EmbeddableStore, Store } from "@stemma/store";
import {
  assertDatabase,
  assertOurs,
  type DatabaseOptions,
  isThere,
  isUrl,
  openDatabase,
  placeOf,
} from "../open-database.js";

/** The place that stands for the Postgres of the server itself, as `--tenants` has it. */
const SCHEMA = "schema";
/** Before the name of a tenant, in that of its schema: no tenant is called as another schema. */
const PREFIX = "stemma_";

export interface OpenTenants {
  readonly tenants: Tenants;
  close(): Promise<void>;
}

/**
 * The tenants of a server whose own database is `own`: a file for each, or on one pool a schema for each. `search` gives a store its
 * model; with the store of `own` as `control`, tenants can be listed and erased. Errors: `INVALID_ARGUMENT`.
 */
export function openTenants(
  { tenants: place = SCHEMA, maxTenants }: { readonly tenants?: string; readonly maxTenants: number },
  own: DatabaseOptions,
  search: (store: EmbeddableStore) => Store,
  erasing: Pick<TenantsOptions, "control" | "onError"> = {},
): OpenTenants {
  const url = place === SCHEMA ? placeOf(own.db) : place;
  if (place === SCHEMA && !isUrl(url)) {
    throw invalid(
      "A schema for each tenant needs a database of Postgres: name one with --db, or a path with {tenant}.",
    );
  }
  const places = isUrl(url) ? tenantSchemas(url, own) : tenantFiles(url, own);
  const { names, remove } = places;
  const tenants = new Tenants((tenant) => search(places.open(tenant)), { max: maxTenants, names, remove, ...erasing });
  return {
    tenants,
    close: async () => {
      await tenants.close();
      await places.close?.();
    },
  };
}

function tenantSchemas(url: string, { schema: own }: DatabaseOptions): TenantPlaces {
  const { open, names, drop, close } = postgresSchemas(url);
  const schemaOf = (tenant: string) => {
    const schema = PREFIX + tenant;
    if (schema === own) throw ofTheServer(tenant);
    return schema;
  };
  return {
    open: (tenant) => open(schemaOf(tenant)),
    names: async () =>
      (await names(PREFIX)).filter((schema) => schema !== own).map((schema) => schema.slice(PREFIX.length)),
    remove: (tenant) => drop(schemaOf(tenant)),
    close,
  };
}

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

/** Where tenants are: in files, or in schemas. */
export interface TenantPlaces {
  open(tenant: string): EmbeddableStore;
  /** Those that are there. */
  names(): Promise<string[]> | string[];
  /** Resolves to whether it was there. Errors: `INVALID_ARGUMENT` for what is another program's. */
  remove(tenant: string): Promise<boolean> | boolean;
  close?(): Promise<void>;
}

export function ofTheServer(tenant: string): Error {
  return invalid(`No tenant can be called ${quote(tenant)}: the server's own keys are there.`, { tenant });
}
