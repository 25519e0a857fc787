// What stands in for a database in somebody's test, and keeps nothing.
import { expect, it } from "vitest";
import { postgres } from "../../../packages/postgres/src/postgres.js";
import { Session, type SqlProvider } from "../../../packages/stemma/src/session.js";
import { textMessage } from "../../helpers/messages.js";

it("an agent whose sql gives nothing is told so, and not asked without end", async () => {
  const session = Session.create({ sql: () => [] } as SqlProvider).withContext("memory");
  const refused = { code: "STORE_FAILED", message: expect.stringContaining("does not keep what is written") };
  await expect(session.appendMessage(textMessage("a"))).rejects.toMatchObject(refused);
  await expect(session.getHistory()).rejects.toMatchObject(refused);
  await expect(session.freezeSystemPrompt()).rejects.toMatchObject(refused);
});

it("a client of Postgres that gives nothing as well", async () => {
  const session = Session.create(postgres({ query: async () => ({ rows: [] }) }));
  await expect(session.getHistory()).rejects.toMatchObject({ code: "STORE_UNSUPPORTED" });
});
