import type { MemoryBlock } from "../../../packages/studio/src/api.js";
import type { Studio } from "../../../packages/studio/src/options.js";
import type { Ask } from "../../studio/ask.js";
import { describePages } from "../../studio/describe-pages.js";
import { describeWorkerd, type WorkerDefinition } from "../../workers/workerd.js";

const studioWorker: WorkerDefinition<typeof import("../../workers/studio-worker.js")> = {
  entry: "studio-worker.ts",
  objects: { StudioObject: true },
};

/** The browser's requests, passed on to a studio in another process, whose origin is another one. */
function passingOn(ask: Ask): Studio {
  return async (request) => {
    const { pathname, search } = new URL(request.url);
    const body = request.method === "POST" ? { body: await request.json() } : {};
    const { status, headers, text } = await ask({ path: pathname.replace(/^\/debug/, "") + search, ...body });
    return new Response(text, { status, headers });
  };
}

async function memoryBlock(ask: Ask): Promise<MemoryBlock> {
  const { json } = await ask({ path: "/api/memory?session=trip" });
  return json.blocks.find(({ label }: MemoryBlock) => label === "memory");
}

async function factOf(ask: Ask): Promise<string | undefined> {
  const { json } = await ask({ path: "/api/entry?user=ada&label=facts&entry=home" });
  return json.entry?.content;
}

describeWorkerd("a studio in a Durable Object", studioWorker, (workerd) => {
  describePages("a Durable Object", async () => {
    const object = workerd.object("StudioObject", "pages");
    const ask: Ask = (question) => object.ask(question);
    await object.fill();
    return {
      studio: passingOn(ask),
      rename: async (name) => void (await ask({ path: "/api/rename", body: { id: "trip", name } })),
      writeMemory: async (content) => {
        const { version } = await memoryBlock(ask);
        const body = { owner: { session: "trip" }, label: "memory", content, expectedVersion: version };
        await ask({ path: "/api/edit-block", body });
      },
      writeFact: async (content) => {
        const expectedContent = await factOf(ask);
        const body = { owner: { user: "ada" }, label: "facts", key: "home", content, expectedContent };
        await ask({ path: "/api/edit-entry", body });
      },
      fact: () => factOf(ask),
      memory: async () => (await memoryBlock(ask)).content,
      close: async () => {},
    };
  });
});
