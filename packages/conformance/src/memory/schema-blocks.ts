import { z } from "zod";
import { expect, expectError } from "../assert.js";
import { numbered } from "../samples.js";
import { defineTopic } from "../topic.js";
import type { Workspace } from "../workspace.js";

const PROFILE = z.object({
  name: z.string(),
  age: z.number().int(),
  address: z.object({ city: z.string(), street: z.string().optional() }),
  likes: z.array(z.string()),
});

const withProfile = ({ sessionOf }: Workspace, maxTokens?: number) =>
  sessionOf("main").withContext("profile", { schema: PROFILE, maxTokens });

async function writer(session: ReturnType<typeof withProfile>) {
  const { set_context } = await session.tools();
  return (patch: unknown, more: object = {}) =>
    set_context.execute({ label: "profile", content: JSON.stringify(patch), ...more });
}

/** Blocks whose content is a JSON object of a schema. */
export const schemaBlocks = defineTopic("schema blocks", (it) => {
  it("takes JSON Merge Patches of the model, and gives the object to the program", async (workspace) => {
    const session = withProfile(workspace);
    const write = await writer(session);
    expect(await session.readContextValue("profile")).toBe(null);
    expect(await write({ name: "Ada", address: { city: "Rome", street: "Via A" } })).toBe("Patched profile.");
    await write({ age: 36, address: { city: "Lima", street: null }, likes: ["tea"] });
    await session.patchContextBlock("Profile", { likes: ["tea", "chess"], age: null });
    const value = { name: "Ada", address: { city: "Lima" }, likes: ["tea", "chess"] };
    expect(await session.readContextValue("profile")).toEqual(value);
    const block = await session.readContextBlock("profile");
    expect(JSON.parse(block?.content ?? "")).toEqual(value);
    expect(await session.refreshSystemPrompt()).toInclude('"city": "Lima"');
    expect((await session.getBlockHistory("profile")).map(({ author }) => author)).toEqual([
      "program",
      "model",
      "model",
    ]);
  });

  it("tells the model what does not fit, and changes nothing", async (workspace) => {
    const session = withProfile(workspace, 40);
    const write = await writer(session);
    await write({ name: "Ada" });
    const refusals: [unknown, string, object?][] = [
      [{ age: "old" }, "age"],
      [{ address: { street: "Via A" } }, "address.city"],
      [{ address: null, nickname: "A" }, "nickname"],
      [["name"], "object"],
      [{ name: "word ".repeat(60) }, "40"],
      [{ name: "Bea" }, "append", { action: "append" }],
    ];
    for (const [patch, why, more] of refusals) {
      const answer = await write(patch, more);
      expect([patch, answer.startsWith("Error:"), answer.includes(why)]).toEqual([patch, true, true]);
    }
    const { set_context } = await session.tools();
    expect(await set_context.execute({ label: "profile", content: "Ada" })).toInclude("not JSON");
    await expectError(session.patchContextBlock("profile", { age: 1.5 }), "BLOCK_INVALID");
    await expectError(session.replaceContextBlock("profile", '{"age":"old"}'), "BLOCK_INVALID");
    await expectError(session.appendContextBlock("profile", "text"), "INVALID_ARGUMENT");
    expect(await session.readContextValue("profile")).toEqual({ name: "Ada" });
  });

  it("keeps patches that come together", async (workspace) => {
    const counts = z.object(Object.fromEntries(numbered("n", 8).map((name) => [name, z.number()])));
    const open = (id: string) =>
      workspace.sessionOf(id).forUser("ada").withContext("counts", { schema: counts, scope: "user" });
    const names = numbered("n", 8);
    const sessions = [open("one"), open("two")];
    await Promise.all(names.map((name, index) => sessions[index % 2]?.patchContextBlock("counts", { [name]: index })));
    expect(await open("three").readContextValue("counts")).toEqual(
      Object.fromEntries(names.map((name, index) => [name, index])),
    );
  });

  it("reads a stored text that does not fit as an error, which a replace mends", async (workspace) => {
    await workspace.sessionOf("main").withContext("profile").replaceContextBlock("profile", "Ada, 36");
    const session = withProfile(workspace);
    await expectError(session.readContextValue("profile"), "BLOCK_INVALID");
    await expectError(session.patchContextBlock("profile", { age: 36 }), "BLOCK_INVALID");
    await session.replaceContextBlock("profile", '{"name":"Ada"}');
    await session.patchContextBlock("profile", { age: 36 });
    expect(await session.readContextValue("profile")).toEqual({ name: "Ada", age: 36 });
  });

  it("writes to a provider of the program's, and refuses schemas where they cannot be", async (workspace) => {
    let text = "";
    const set = (content: string) => {
      text = content;
    };
    const provider = { get: () => text, set };
    const session = workspace.sessionOf("main").withContext("profile", { provider, schema: PROFILE });
    await Promise.all([{ name: "Ada" }, { age: 36 }].map((patch) => session.patchContextBlock("profile", patch)));
    expect(JSON.parse(text)).toEqual({ name: "Ada", age: 36 });
    const wrong = [
      { schema: z.string() },
      { schema: {} },
      { schema: PROFILE, provider: { get: () => null, load: () => null } },
    ] as unknown as { schema: typeof PROFILE }[];
    for (const options of wrong) {
      await expectError(async () => workspace.sessionOf("main").withContext("x", options).tools(), "INVALID_ARGUMENT");
    }
    const plain = workspace.sessionOf("main").withContext("memory");
    await expectError(plain.readContextValue("memory"), "INVALID_ARGUMENT");
    await expectError(plain.patchContextBlock("memory", {}), "INVALID_ARGUMENT");
  });
});
