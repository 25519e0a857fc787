import type { TitleFunction } from "@stemma/session";
import { SessionManager } from "@stemma/session";
import { expect } from "../assert.js";
import { message } from "../samples.js";
import { defineTopic } from "../topic.js";
import type { Workspace } from "../workspace.js";

const answer = (id: string) => message(id, `text of ${id}`, "assistant");

function naming(name: string | null = '**"Tea in Lima."**\nA name.') {
  const prompts: string[] = [];
  const generate: TitleFunction = async (prompt) => {
    prompts.push(prompt);
    return name;
  };
  return { prompts, generate };
}

const managerOf = ({ store }: Workspace, generate: TitleFunction) => SessionManager.create(store).withTitles(generate);

/** Names of sessions that their program gave none. */
export const titles = defineTopic("titles", (it) => {
  it("names a session after its first exchange, and never again", async (workspace) => {
    const { prompts, generate } = naming();
    const manager = managerOf(workspace, generate);
    const session = manager.getSession("main");
    const names: string[] = [];
    session.subscribe((event) => event.type === "title" && names.push(event.name));
    await session.appendMessage(message("u1", "Where is good tea?"));
    await session.close();
    expect([(await manager.get("main"))?.name, prompts.length]).toEqual(["main", 0]);
    await session.appendMessage(answer("a1"));
    await session.close();
    expect([(await manager.get("main"))?.name, names, prompts.length]).toEqual(["Tea in Lima", ["Tea in Lima"], 1]);
    expect(prompts[0]).toInclude("Where is good tea?");
    for (const each of [session, managerOf(workspace, generate).getSession("main")]) {
      await each.appendAll([message(`u${prompts.length}x`), answer(`a${prompts.length}x`)]);
      await each.appendMessage(answer(crypto.randomUUID()));
      await each.close();
    }
    expect(prompts.length).toBe(1);
  });

  it("names it once where several processes answer", ["durable"], async (workspace) => {
    const { prompts, generate } = naming();
    await workspace.session.appendMessage(message("u1"));
    const others = await Promise.all([1, 2, 3].map(() => workspace.connect()));
    const sessions = [workspace, ...others].map((each) => managerOf(each, generate).getSession("main"));
    await Promise.all(sessions.map((session, index) => session.appendMessage(answer(`a${index}`))));
    await Promise.all(sessions.map((session) => session.close()));
    expect([prompts.length, (await workspace.manager.get("main"))?.name]).toEqual([1, "Tea in Lima"]);
  });

  it("leaves a name of its own, also one that is given meanwhile", async (workspace) => {
    const { prompts, generate } = naming();
    const manager = managerOf(workspace, async (prompt, messages) => {
      await workspace.manager.rename("second", "Mine");
      return generate(prompt, messages);
    });
    await manager.create("Named", { id: "first" });
    for (const id of ["first", "second"]) {
      await manager.appendAll(id, [message("u1"), answer("a1")]);
      await manager.getSession(id).close();
    }
    expect([(await manager.get("first"))?.name, (await manager.get("second"))?.name]).toEqual(["Named", "Mine"]);
    expect(prompts.length).toBe(1);
  });

  it("counts what naming used apart, whatever becomes of the name", async (workspace) => {
    const names = ["Tea in Lima", ""];
    const usage = { inputTokens: 40, outputTokens: 3, cost: 0.01 };
    const manager = managerOf(workspace, () => ({ text: names.shift() ?? "", usage }));
    for (const id of ["first", "second"]) {
      await manager.appendAll(id, [message("u1"), answer("a1")]);
      await manager.getSession(id).close();
    }
    expect([(await manager.get("first"))?.name, (await manager.get("second"))?.name]).toEqual([
      "Tea in Lima",
      "second",
    ]);
    expect(await manager.getUsage({ by: "model" })).toEqual([
      { name: "title", requests: 2, inputTokens: 80, outputTokens: 6, cost: 0.02 },
    ]);
  });

  it("fails no append, tells of a failure, and tries three times in all", async (workspace) => {
    let calls = 0;
    const manager = managerOf(workspace, async () => {
      calls += 1;
      throw new RangeError("no model today");
    });
    const session = manager.getSession("main");
    const errors: string[] = [];
    session.subscribe((event) => event.type === "cf_agent_session_error" && errors.push(event.error));
    await session.appendMessage(message("u1"));
    for (let round = 0; round < 5; round += 1) {
      await session.appendMessage(answer(`a${round}`));
      await session.close();
    }
    expect([calls, errors]).toEqual([3, ["no model today", "no model today", "no model today"]]);
    const { generate } = naming(null);
    const silent = managerOf(workspace, generate);
    await silent.appendAll("other", [message("u1"), answer("a1")]);
    await silent.getSession("other").close();
    expect((await silent.get("other"))?.name).toBe("other");
  });
});
