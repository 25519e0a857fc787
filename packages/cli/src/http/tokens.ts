import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { invalid } from "@stemma/model";

const MIN_LENGTH = 16;

/** 128 random bits. */
export function randomToken(): string {
  return randomBytes(16).toString("base64url");
}

/** Takes the same time wherever two texts differ. */
export function isEqualToken(token: string, secret: string): boolean {
  return timingSafeEqual(digest(token), digest(secret));
}

/** True for `Authorization: Bearer <secret>` and nothing else. The scheme may be in upper or lower case. */
export function isBearer(authorization: string | null, secret: string): boolean {
  const [, token] = /^bearer +(.*)$/i.exec(authorization ?? "") ?? [];
  return token !== undefined && isEqualToken(token, secret);
}

/** Throws `INVALID_ARGUMENT` for a token of the user's own that can be guessed, or that no header can hold. */
export function assertToken(token: string | undefined): void {
  if (token === undefined || (token.length >= MIN_LENGTH && /^[!-~]+$/.test(token))) return;
  throw invalid(`A token has at least ${MIN_LENGTH} characters, all of them visible ones of ASCII: no spaces.`);
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
