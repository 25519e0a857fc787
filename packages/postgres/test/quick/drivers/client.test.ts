import { expect, it } from "vitest";
import { clientOf, type PostgresSource, postgresDriver } from "../../../src/drivers/client.js";

const sourceOf = (source: unknown) => source as PostgresSource;

it("refuses the function that neon() gives, and names what does instead", () => {
  const neon = Object.assign(() => {}, { query: async () => [], unsafe: () => {}, transaction: async () => [] });
  expect(() => postgresDriver(sourceOf(neon))).toThrow(
    expect.objectContaining({ code: "STORE_UNSUPPORTED", message: expect.stringContaining("Pool") }),
  );
});

it("refuses what is nothing", () => {
  for (const nothing of [null, undefined, 0, "", { $client: null }]) {
    const driver = () => postgresDriver(clientOf(sourceOf(nothing)));
    expect(driver).toThrow(expect.objectContaining({ code: "STORE_UNSUPPORTED" }));
  }
});

it("takes the client that a database of Drizzle holds, or a transaction of it, and any other as it is", () => {
  const client = { query: async () => ({ rows: [] }) };
  const execute = async () => ({ rows: [] });
  expect(clientOf(sourceOf({ $client: client, execute }))).toBe(client);
  expect(clientOf(sourceOf({ session: { client }, execute }))).toBe(client);
  expect(clientOf(sourceOf(client))).toBe(client);
  const wrapped = { execute };
  expect(clientOf(wrapped)).toBe(wrapped);
});
