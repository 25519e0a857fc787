import { AgentSearchProvider, SessionManager } from "@stemma/session";
import { expect, it } from "vitest";
import { memory } from "../../../store/src/memory.js";
import { createStudio } from "../../src/create-studio.js";

it("keeps to what the program configured for a user's entries: their size, and how many versions stay", async () => {
  const store = memory();
  const provider = new AgentSearchProvider(store, { scope: "user" });
  const manager = SessionManager.create(store).withContext("facts", { provider, maxTokens: 5, keepVersions: 0 });
  const studio = createStudio(manager, { authorize: () => true, write: true, basePath: "/" });
  const headers = { "content-type": "application/json", "x-stemma-studio": "1" };
  const write = async (route: string, fields: object) => {
    const body = JSON.stringify({ owner: { user: "ada" }, label: "facts", key: "home", ...fields });
    const response = await studio(new Request(`http://studio.test/api/${route}`, { method: "POST", headers, body }));
    return ((await response.json()) as { code?: string }).code ?? response.status;
  };
  const { entries } = store.forUser("ada");
  const scope = { sessionId: "", label: "facts", scope: "user" } as const;
  await entries.set(scope, { key: "home", content: "Oslo" }, { keepVersions: 0 });
  const long = { content: "Far too much for this block. ".repeat(9), expectedContent: "Oslo" };
  expect(await write("edit-entry", long)).toBe("BLOCK_OVER_BUDGET");
  expect(await write("edit-entry", { content: "Lima", expectedContent: "Oslo" })).toBe(200);
  // Only the present one.
  expect((await entries.versions(scope, "home")).map(({ content }) => content)).toEqual(["Lima"]);
  expect(await write("forget-entry", {})).toBe(200);
  expect([await entries.get(scope, "home"), await entries.versions(scope, "home")]).toEqual([null, []]);
  await store.close();
});
