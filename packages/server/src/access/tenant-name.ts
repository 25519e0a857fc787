/** Devices of Windows, in whatever folder. */
const DEVICES = "aux|con|nul|prn|com\\d|lpt\\d";
const NAME = new RegExp(`^(?!(?:${DEVICES})$)[a-z\\d][a-z\\d_-]{0,47}$`);

/** The rule for a tenant's name, as an error says it. */
export const TENANT_NAME =
  "a name of 1 to 48 characters: a to z, 0 to 9, _ and -, the first no sign, and no device of Windows";

/** True for a name that may be a part of a path, and of the name of a schema: no two are one where upper and lower case are. */
export function isTenantName(value: unknown): value is string {
  return typeof value === "string" && NAME.test(value);
}
