import { check, defineOptions } from "@stemma/model";
import { assertUserId } from "@stemma/store";
import type { Principal } from "./principal.js";

/** Reach of a key or a token, without who has it. */
export type Access = Omit<Principal, "id">;

/** The options of whoever makes a key or a token. */
export const ACCESS = defineOptions<Access>({
  access: check.required(check.oneOf("memory", "admin", "mint")),
  userId: assertUserId,
  project: check.text,
  keys: check.texts("keys of memory"),
  readOnly: check.flag,
});

/** Those fields alone that there are. */
export function accessOf({ access, userId, project, keys, readOnly }: Access): Access {
  return {
    access,
    ...(userId !== undefined && { userId }),
    ...(project !== undefined && { project }),
    ...(keys !== undefined && { keys }),
    ...(readOnly === true && { readOnly }),
  };
}
