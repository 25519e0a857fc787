import { expect, it } from "vitest";
import type { SessionMessage } from "../../../packages/stemma/src/session.js";
import { textMessage } from "../../helpers/messages.js";
import { describeServer } from "../../postgres/server.js";
import type * as worker from "../../workers/hyperdrive/worker.js";
import { describeWorkerd, type WorkerDefinition } from "../../workers/workerd.js";

describeServer("beside a Postgres server", (server) => {
  const definition: WorkerDefinition<typeof worker> = {
    entry: "hyperdrive/worker.ts",
    objects: { PostgresObject: true, DocumentsObject: true },
    // Read when the worker starts, which is after the server did. A binding needs a password; this server takes any.
    get hyperdrives() {
      return { HYPERDRIVE: server.url.replace("postgres@", "postgres:any@") };
    },
    node: true,
  };

  describeWorkerd("a Hyperdrive binding", definition, (workerd) => {
    it("leads to a store in Postgres", async () => {
      const object = workerd.object("PostgresObject", "a");
      for (const id of ["1", "2"]) await object.call("appendMessage", textMessage(id));
      await object.call("replaceContextBlock", "memory", "User likes coffee.");
      const prompt = await object.call("freezeSystemPrompt");
      expect(prompt).toContain("User likes coffee.");
      await workerd.stop();
      const again = workerd.object("PostgresObject", "b");
      await again.call("appendMessage", textMessage("3", "The deployment is on Friday."));
      expect(((await again.call("getHistory")) as SessionMessage[]).map(({ id }) => id)).toEqual(["1", "2", "3"]);
      expect(await again.call("search", "deployments")).toMatchObject([{ id: "3" }]);
      expect(await again.call("freezeSystemPrompt")).toBe(prompt);
      expect(await again.list()).toEqual(["hyperdrive"]);
    });

    it("runs the sample of the documents, which remembers across objects", async () => {
      const agent = workerd.object("DocumentsObject", "a");
      await agent.call("appendMessage", textMessage("m1", "My name is Ada."));
      expect(await agent.useTool("set_context", { label: "memory", content: "User is Ada." })).toContain("memory");
      const metadata = { title: "Deploys" };
      await agent.useTool("set_context", { label: "knowledge", content: "Deploys happen on Fridays.", metadata });
      const prompt = await agent.call("freezeSystemPrompt");
      expect(prompt).toContain("You are a helpful assistant.");
      expect(prompt).toContain("User is Ada.");
      await agent.stop();
      const again = workerd.object("DocumentsObject", "b");
      expect(((await again.call("getHistory")) as SessionMessage[]).map(({ id }) => id)).toEqual(["m1"]);
      expect(await again.call("freezeSystemPrompt")).toBe(prompt);
      expect(await again.useTool("search_context", { label: "knowledge", query: "deploying" })).toContain("Fridays");
      expect(await again.call("search", "names")).toMatchObject([{ id: "m1" }]);
      await again.stop();
    });
  });
});
