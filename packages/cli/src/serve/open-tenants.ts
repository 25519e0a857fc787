import { invalid } from "@stemma/model";
import { postgresSchemas } from "@stemma/postgres/postgres";
import { Tenants, type TenantsOptions } from "@stemma/server";
import type { EmbeddableStore, Store } from "@stemma/store";
import { type DatabaseOptions, isUrl, placeOf } from "../open-database.js";
import { tenantFiles } from "./tenant-files.js";
import { ofTheServer, type TenantPlaces } from "./tenant-places.js";

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
