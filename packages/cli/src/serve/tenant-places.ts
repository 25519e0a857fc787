import { invalid, quote } from "@stemma/model";
import type { EmbeddableStore } from "@stemma/store";

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
