/**
 * The user of a request with `Authorization: Bearer <user id>.<signature>`, or null. The signature is an HMAC-SHA-256 of
 * the user's id, in hexadecimal. Put your own sign-in here.
 */
export async function userOf(request: Request, secret: string): Promise<string | null> {
  const token = /^Bearer (.+)\.([0-9a-f]{64})$/.exec(request.headers.get("authorization") ?? "");
  const [, userId, signature] = token ?? [];
  if (userId === undefined || signature === undefined) return null;
  const bytes = (text: string) => new TextEncoder().encode(text);
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", bytes(secret), algorithm, false, ["verify"]);
  const signed = Uint8Array.from(signature.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16));
  return (await crypto.subtle.verify("HMAC", key, signed, bytes(userId))) ? userId : null;
}
