import { portableSha256 } from "./portable-sha256.js";

/** What of `node:crypto` is used here. */
interface NativeCrypto {
  createHash(name: "sha256"): {
    update(data: string | Uint8Array): { digest(): Uint8Array; digest(form: "hex"): string };
  };
}

/** Null where the runtime has none. Found at the first use: to load it takes milliseconds. */
let native: NativeCrypto | null | undefined;

// Nothing that a browser or a Worker loads may import a module of Node, so the process is asked for it.
function findNative(): NativeCrypto | null {
  if (native === undefined) {
    const { process } = globalThis as { process?: { getBuiltinModule?: (name: string) => unknown } };
    native = (process?.getBuiltinModule?.("node:crypto") as NativeCrypto | undefined) ?? null;
  }
  return native;
}

/** The SHA-256 of a text's UTF-8, in hex. */
export function sha256(text: string): string {
  const crypto = findNative();
  if (crypto !== null) return crypto.createHash("sha256").update(text).digest("hex");
  const bytes = portableSha256(new TextEncoder().encode(text));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The 32 bytes of the SHA-256 of bytes. */
export function sha256Bytes(bytes: Uint8Array): Uint8Array {
  const crypto = findNative();
  return crypto === null ? portableSha256(bytes) : new Uint8Array(crypto.createHash("sha256").update(bytes).digest());
}
