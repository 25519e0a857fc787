import { claudeSessionStore, memoryTool } from "../../../packages/stemma/src/claude.js";
import { Session } from "../../../packages/stemma/src/session.js";
import { durableObject } from "../../../packages/store/src/durable-object.js";
import { turn } from "../../claude/transcripts.js";
import { RemoteObject, route } from "../agent.js";

/** Claude's memory tool and the sessions of its Agent SDK, on a Durable Object. */
export class ClaudeObject extends RemoteObject {
  readonly #store = durableObject(this.ctx);

  async remember(): Promise<{ files: string; found: string[] }> {
    const tool = memoryTool(Session.create(this.#store).forSession("chat"));
    await tool.create({ path: "/memories/tea.md", file_text: "Ada drinks tea.\n" });
    await tool.str_replace({ path: "/memories/tea.md", old_str: "tea", new_str: "green tea" });
    const scope = { sessionId: "chat", label: "memories" };
    const found = await this.#store.entries.search(scope, "drinking", { limit: 5 });
    return {
      files: await tool.view({ path: "/memories" }),
      found: found.map(({ content }) => content),
    };
  }

  /** What the SDK would load of a session that another adapter wrote. */
  async load(sessionId: string): Promise<unknown[]> {
    const session = Session.create(this.#store).forSession(`claude/-srv-app/${sessionId}`);
    await session.appendMessage({ id: "q", role: "user", parts: [{ type: "text", text: "Hello" }] });
    const entries = await claudeSessionStore(this.#store).load({ projectKey: "-srv-app", sessionId });
    return (entries ?? []).map(({ message }) => message);
  }

  async append(sessionId: string): Promise<void> {
    await claudeSessionStore(this.#store).append({ projectKey: "-srv-app", sessionId }, Object.values(turn(sessionId)));
  }
}

export default route;
