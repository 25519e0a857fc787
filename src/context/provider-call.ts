import { kindOf, reasonOf, StemmaError } from "../errors.js";

/**
 * Runs one call of a provider. What it throws comes out as `PROVIDER_FAILED` with the original as `cause`; errors of our
 * own pass as they are.
 */
export async function callProvider<T>(label: string, method: string, call: () => T | PromiseLike<T>): Promise<T> {
  try {
    return await call();
  } catch (cause) {
    if (StemmaError.isInstance(cause)) throw cause;
    const why = reasonOf(cause);
    const message = `The provider of "${label}" failed in ${method}(): ${why}`;
    throw new StemmaError("PROVIDER_FAILED", { label, method }, message, { cause });
  }
}

/** The same for calls that read: resolves to text, or to null where there is none. */
export async function readProvider(label: string, method: string, call: () => unknown): Promise<string | null> {
  const value = await callProvider(label, method, call);
  if (value === undefined || value === null) return null;
  if (typeof value === "string") return value;
  const message = `The provider of "${label}" gave no text from ${method}(), but ${kindOf(value)}.`;
  throw new StemmaError("PROVIDER_FAILED", { label, method }, message);
}
