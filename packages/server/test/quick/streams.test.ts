import { expect, it, vi } from "vitest";
import { textStream } from "../../src/rest/streams.js";

it("waits as long as its text takes, and five minutes for a reader", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    let isOver = false;
    const texts = async function* () {
      try {
        yield "one";
        await new Promise((wake) => setTimeout(wake, 3_600_000));
        yield "two";
        yield "three";
      } finally {
        isOver = true;
      }
    };
    const reader = (await textStream(texts(), "text/plain", 1)).body?.getReader();
    const read = async () => new TextDecoder().decode((await reader?.read())?.value);
    expect(await read()).toBe("one");
    const two = read();
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect(await two).toBe("two");
    await vi.advanceTimersByTimeAsync(299_000);
    expect(isOver).toBe(false);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(isOver).toBe(true);
    await expect(read()).rejects.toMatchObject({ code: "CONNECTION_LOST" });
  } finally {
    vi.useRealTimers();
  }
});
