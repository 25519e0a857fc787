import { expect, it } from "vitest";
import { postgres } from "../../../packages/postgres/src/postgres.js";
import { SessionManager } from "../../../packages/stemma/src/session.js";
import { textMessage } from "../../helpers/messages.js";
import { describeServer } from "../../postgres/server.js";

describeServer("a search for a rare word and one of more messages than are scored", (server) => {
  it("passes over a session with branches in which none is scored", async () => {
    const store = postgres(await server.createDatabase());
    const manager = SessionManager.create(store);
    // Its rows come before all that are scored.
    await manager.appendAll("branched", [textMessage("a", "pears"), textMessage("b", "pears")]);
    await manager.append("branched", textMessage("c", "pears"), "a");
    const many = Array.from({ length: 300 }, (_, index) => textMessage(`m${index}`, `pears of day ${index}`));
    await manager.appendAll("long", many);
    await manager.append("rare", textMessage("quince", "a quince"));
    const found = await manager.search("quince pears");
    expect(found).toHaveLength(20);
    expect(found[0]?.id).toBe("quince");
    expect(new Set(found.slice(1).map(({ sessionId }) => sessionId))).toEqual(new Set(["long"]));
    await store.close();
  });
});
