import { expect, it } from "vitest";
import { snippetsOf } from "../../docs/snippets.js";
import { sources } from "../../workers/sources.js";
import { describeWorkerd, type WorkerDefinition } from "../../workers/workerd.js";

const [program] = snippetsOf("docs/stores/cloudflare.md");

// The class of the page, in an object that can be called and evicted.
const definition: WorkerDefinition<{
  Page: new () => { send(message: object): { id: string }[]; evict(): void };
}> = {
  entry: {
    text: `${program?.code}
      import { RemoteObject, route } from "./agent.js";
      export class Page extends RemoteObject {
        readonly chat = new Chat(this.ctx);
        async send(message: object) {
          const request = new Request("http://chat/", { method: "POST", body: JSON.stringify(message) });
          return (await this.chat.fetch(request)).json();
        }
        async evict() {
          await this.ctx.storage.sync();
          this.ctx.abort("evicted");
        }
      }
      export default route;`,
  },
  objects: { Page: true },
  plugins: [sources],
};

describeWorkerd("the program of docs/stores/cloudflare.md", definition, (workerd) => {
  it("keeps a conversation", async () => {
    const page = workerd.object("Page", "a");
    await page.send({ id: "1", role: "user", parts: [{ type: "text", text: "Hello" }] });
    await expect(page.evict()).rejects.toThrow();
    const history = await page.send({ id: "2", role: "user", parts: [] });
    expect(history.map(({ id }) => id)).toEqual(["1", "2"]);
  });
});
