import { statSync } from "node:fs";
import { invalid, quote } from "@stemma/model";
import { postgresSchemas } from "@stemma/postgres/postgres";
import { Tenants } from "@stemma/server";
import type { EmbeddableStore, Store } from "@stemma/store";
import { assertOurs, type DatabaseOptions, isThere, isUrl, openDatabase, placeOf } from "../open-database.js";

/** Stands for a tenant's name in a path. */
const TENANT = "{tenant}";
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
 * model. Errors: `INVALID_ARGUMENT`.
 */
export function openTenants(
  { tenants: place = SCHEMA, maxTenants }: { readonly tenants?: string; readonly maxTenants: number },
  own: DatabaseOptions,
  search: (store: EmbeddableStore) => Store,
): OpenTenants {
  const url = place === SCHEMA ? placeOf(own.db) : place;
  if (place === SCHEMA && !isUrl(url)) {
    throw invalid(
      "A schema for each tenant needs a database of Postgres: name one with --db, or a path with {tenant}.",
    );
  }
  const { open, close } = isUrl(url) ? inSchemas(url, own) : { open: (tenant: string) => openFile(url, tenant, own) };
  const tenants = new Tenants((tenant) => search(open(tenant)), { max: maxTenants });
  return {
    tenants,
    close: async () => {
      await tenants.close();
      await close?.();
    },
  };
}

function inSchemas(url: string, { schema }: DatabaseOptions) {
  const { open, close } = postgresSchemas(url);
  const openSchema = (tenant: string) => {
    const name = PREFIX + tenant;
    if (name === schema) throw ofTheServer(tenant);
    return open(name);
  };
  return { open: openSchema, close };
}

function openFile(place: string, tenant: string, own: DatabaseOptions): EmbeddableStore {
  const db = place.replaceAll(TENANT, tenant);
  if (isThere({ db })) {
    if (isSameFile(db, placeOf(own.db))) throw ofTheServer(tenant);
    assertOurs({ db });
  }
  return openDatabase({ db });
}

function isSameFile(path: string, other: string): boolean {
  const [one, two] = [path, other].map((each) => statSync(each, { throwIfNoEntry: false }));
  return one !== undefined && one.dev === two?.dev && one.ino === two.ino;
}

function ofTheServer(tenant: string): Error {
  return invalid(`No tenant can be called ${quote(tenant)}: the server's own keys are there.`, { tenant });
}
