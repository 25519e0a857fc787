import type { SessionMessage } from "./message.js";

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

export function sha256Bytes(bytes: Uint8Array): Uint8Array {
  const crypto = findNative();
  return crypto === null ? portableSha256(bytes) : new Uint8Array(crypto.createHash("sha256").update(bytes).digest());
}

// For runtimes without `node:crypto`. WebCrypto answers later, and a write to SQLite cannot wait; a library has what other
// hashes share, at six times the size.

const BLOCK = 64;
const COUNT = 64;

// The first words of the fractional parts of roots of the first primes, as FIPS 180-4 has them.
const primes = firstPrimes();
const ROUND_CONSTANTS = Int32Array.from(primes, (prime) => Math.cbrt(prime) * 2 ** 32);
const START = Int32Array.from(primes.slice(0, 8), (prime) => Math.sqrt(prime) * 2 ** 32);

export function portableSha256(bytes: Uint8Array): Uint8Array {
  const digest = new DataView(new ArrayBuffer(32));
  for (const [index, word] of digestWords(bytes).entries()) digest.setInt32(4 * index, word);
  return new Uint8Array(digest.buffer);
}

function digestWords(message: Uint8Array): Int32Array {
  const state = Int32Array.from(START);
  const words = new Int32Array(COUNT);
  const bytes = padded(message);
  for (let offset = 0; offset < bytes.byteLength; offset += BLOCK) addBlock(state, words, bytes, offset);
  return state;
}

function addBlock(state: Int32Array, words: Int32Array, bytes: DataView, offset: number): void {
  for (let i = 0; i < 16; i += 1) words[i] = bytes.getInt32(offset + 4 * i);
  for (let i = 16; i < COUNT; i += 1) {
    const far = words[i - 15] as number;
    const near = words[i - 2] as number;
    const farMixed = rotate(far, 7) ^ rotate(far, 18) ^ (far >>> 3);
    const nearMixed = rotate(near, 17) ^ rotate(near, 19) ^ (near >>> 10);
    words[i] = (words[i - 16] as number) + farMixed + (words[i - 7] as number) + nearMixed;
  }
  // Taking the array apart in one pattern takes three times as long.
  let a = state[0] as number;
  let b = state[1] as number;
  let c = state[2] as number;
  let d = state[3] as number;
  let e = state[4] as number;
  let f = state[5] as number;
  let g = state[6] as number;
  let h = state[7] as number;
  for (let i = 0; i < COUNT; i += 1) {
    const chosen = ((rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & f) ^ (~e & g))) | 0;
    const added = (h + chosen + (ROUND_CONSTANTS[i] as number) + (words[i] as number)) | 0;
    const majority = ((rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + added) | 0;
    d = c;
    c = b;
    b = a;
    a = (added + majority) | 0;
  }
  const result = [a, b, c, d, e, f, g, h];
  for (let i = 0; i < result.length; i += 1) state[i] = (state[i] as number) + (result[i] as number);
}

const rotate = (word: number, by: number): number => (word >>> by) | (word << (32 - by));

// A one, zeros, and the length in bits, to whole blocks.
function padded(message: Uint8Array): DataView {
  const bytes = new Uint8Array(Math.ceil((message.length + 9) / BLOCK) * BLOCK);
  bytes.set(message);
  bytes[message.length] = 0x80;
  const view = new DataView(bytes.buffer);
  view.setBigUint64(bytes.length - 8, BigInt(message.length) * 8n);
  return view;
}

function firstPrimes(): number[] {
  const found: number[] = [];
  for (let n = 2; found.length < COUNT; n += 1) if (found.every((prime) => n % prime !== 0)) found.push(n);
  return found;
}

/** A digest of a message in 64 characters: equal for two messages that are the same as JSON, and for no others. */
export function digestMessage(message: SessionMessage): string {
  return sha256(JSON.stringify(message));
}

/** A digest of a run of messages, from the digest of each. */
export function digestRange(digests: readonly string[]): string {
  return sha256(digests.join());
}
