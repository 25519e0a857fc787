import { expect, expectError } from "./assert.js";
import { message } from "./samples.js";
import { capabilitiesOf } from "./target.js";
import { defineTopic } from "./topic.js";

export const capabilities = defineTopic("capabilities", (it) => {
  it("names itself, and has the capabilities that its author says", async ({ store, target }) => {
    expect(store.name.length > 0).toBe(true);
    expect({ ...store.capabilities }).toEqual(capabilitiesOf(target));
  });

  it("can be used without migrate()", async ({ session }) => {
    await session.appendMessage(message("a"));
    expect(await session.getPathLength()).toBe(1);
  });

  it("refuses any call after close(), which may be called twice", async ({ store, session, manager }) => {
    await session.appendMessage(message("a"));
    await store.close();
    await store.close();
    await expectError(session.appendMessage(message("b")), "STORE_CLOSED");
    await expectError(session.getHistory(), "STORE_CLOSED");
    await expectError(session.history()[Symbol.asyncIterator]().next(), "STORE_CLOSED");
    await expectError(manager.list(), "STORE_CLOSED");
    await expectError(store.migrate(), "STORE_CLOSED");
  });

  it("refuses calls on a store that was closed before its first use", async ({ store, session }) => {
    await store.close();
    await expectError(session.appendMessage(message("a")), "STORE_CLOSED");
  });
});
