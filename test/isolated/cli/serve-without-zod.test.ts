import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { run, temporaryFolder } from "../../cli/run.js";

vi.mock("zod", () => {
  throw new Error("Cannot find package 'zod'");
});

const folder = temporaryFolder();

it("says before it listens what is to be installed", { timeout: 20_000 }, async () => {
  const { code, out, err } = await run(["--db", join(folder, "none.db"), "--json", "serve", "--port", "0"]);
  expect(code).toBe(1);
  expect(out + err).toContain("run: npm install zod@4");
  expect(out + err).not.toContain("listening");
});
