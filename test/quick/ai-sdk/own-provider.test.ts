import { streamText, type UIMessage } from "ai";
import { expect, it } from "vitest";
import { receive, respond } from "../../../packages/stemma/src/ai-sdk.js";
import { Session } from "../../../packages/stemma/src/session.js";
import { scriptedModel } from "../../ai-sdk/scripted-model.js";
import { createProvider } from "../../providers/list-provider.js";

const textOf = ({ parts }: { parts: readonly { type: string }[] }) =>
  parts.map((part) => ("text" in part ? part.text : "")).join("");

it("stores questions, answers and edits on a user's own provider, which keeps no active leaf to answer anew from", async () => {
  const provider = createProvider();
  const { model } = scriptedModel((prompt) => `Answer to ${JSON.stringify(prompt.at(-1)?.content).match(/q\d+/)?.[0]}`);
  const post = async (body: object): Promise<string> => {
    const session = new Session(provider);
    const request = new Request("http://localhost/api/chat", { method: "POST", body: JSON.stringify(body) });
    const { response, ask } = await receive(session, request);
    return (response ?? respond(session, streamText({ model, ...ask }))).text();
  };
  const asked = (id: string, text: string): UIMessage => ({ id, role: "user", parts: [{ type: "text", text }] });
  const history = async () => (await new Session(provider).getHistory()).map(textOf);

  await post({ message: asked("a", "q1") });
  expect(await history()).toEqual(["q1", "Answer to q1"]);
  await post({ message: asked("b", "q2") });
  expect(await history()).toEqual(["q1", "Answer to q1", "q2", "Answer to q2"]);
  await post({ trigger: "submit-message", messageId: "b", message: asked("b", "q3") });
  expect(await history()).toEqual(["q1", "Answer to q1", "q3", "Answer to q3"]);
  await expect(post({ trigger: "regenerate-message" })).rejects.toMatchObject({ code: "STORE_UNSUPPORTED" });
  expect(await history()).toEqual(["q1", "Answer to q1", "q3", "Answer to q3"]);
  const answer = (await new Session(provider).getBranches("a"))[0] as UIMessage;
  expect((await new Session(provider).getBranches(answer.id)).map(textOf)).toEqual(["q2", "q3"]);
});
