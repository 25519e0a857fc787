import { expect, it } from "vitest";
import { assertToken, isBearer } from "../../../src/http/listen.js";

const TOKEN = "a-secret-of-some-length";

it("takes the token alone, with the scheme in upper or lower case", () => {
  for (const header of [`Bearer ${TOKEN}`, `bearer ${TOKEN}`, `BEARER  ${TOKEN}`]) {
    expect([header, isBearer(header, TOKEN)]).toEqual([header, true]);
  }
  const refused = [
    null,
    "",
    TOKEN,
    "Bearer",
    "Bearer ",
    `Bearer${TOKEN}`,
    `Bearer\t${TOKEN}`,
    `Bearer ${TOKEN} junk`,
    `Bearer ${TOKEN},`,
    `Bearer ${TOKEN}, Bearer ${TOKEN}`,
    `Bearer x, Bearer ${TOKEN}`,
    `Bearer ${TOKEN.toUpperCase()}`,
    `Bearer "${TOKEN}"`,
    ` Bearer ${TOKEN}`,
    `Bearer ${TOKEN}\n`,
    `x Bearer ${TOKEN}`,
    `Basic ${TOKEN}`,
  ];
  for (const header of refused) expect([header, isBearer(header, TOKEN)]).toEqual([header, false]);
});

it("refuses a token that can be guessed, or that no header can hold", () => {
  assertToken(undefined);
  assertToken(TOKEN);
  for (const token of ["", "short", "with spaces in it, 30 long", `${TOKEN}\n`, "schlüssel-schlüssel"]) {
    expect(() => assertToken(token)).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
  }
});
