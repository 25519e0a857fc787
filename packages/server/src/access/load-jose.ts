import { once, StemmaError } from "@stemma/model";

/** The package that signs and checks tokens, which is loaded when it is needed. Errors: `DRIVER_MISSING`. */
export const loadJose = once(async () => {
  try {
    return await import("jose");
  } catch (cause) {
    throw new StemmaError("DRIVER_MISSING", {}, 'Tokens need the package "jose": npm install jose.', { cause });
  }
});
