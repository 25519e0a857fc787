import { expect, it } from "vitest";
import { addressOf, changedQuery, placeOf } from "../../../src/page/router.js";

it("finds the path behind the base, and the query", () => {
  const place = placeOf("/tools/studio/session?id=a%20b&at=m1#top", "/tools/studio");
  expect(place.path).toBe("/session");
  expect(Object.fromEntries(place.query)).toEqual({ id: "a b", at: "m1" });
});

it("takes the base itself, with and without a slash, for the first page", () => {
  expect(placeOf("/studio", "/studio").path).toBe("/");
  expect(placeOf("/studio/", "/studio").path).toBe("/");
  expect(placeOf("/", "").path).toBe("/");
});

it("writes an address that reads back as it was, whatever an id holds", () => {
  const id = 'a/b?c=d&e#f%"<ü>\u202E🙂 '.repeat(20);
  const address = addressOf("/session", { id, leaf: null, originals: true, user: "", lanes: 0 }, "/base");
  const place = placeOf(address, "/base");
  expect(place.path).toBe("/session");
  expect(Object.fromEntries(place.query)).toEqual({ id, originals: "1", lanes: "0" });
});

it("replaces some values of a query and removes others", () => {
  const query = new URLSearchParams("id=a&at=b&leaf=c");
  expect(addressOf("/session", changedQuery(query, { at: null, leaf: "d" }), "")).toBe("/session?id=a&leaf=d");
});
