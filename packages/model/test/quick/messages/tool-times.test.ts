import { expect, it } from "vitest";
import {
  answeredNow,
  formatDuration,
  ToolClock,
  toolMilliseconds,
  toolTimesOf,
} from "../../../src/messages/tool-parts.js";

const call = (toolCallId: string, state = "output-available") => ({ type: "tool-look", toolCallId, state, input: {} });
const message = (...parts: object[]) => ({ id: "m", role: "assistant", parts, metadata: { own: 1 } as unknown });

it("notes when calls were made and answered, beside other metadata", () => {
  const clock = new ToolClock();
  clock.called("a");
  clock.answered("a");
  clock.called("b");
  clock.called("gone");
  const noted = clock.on(message(call("a"), call("b", "input-available")));
  expect(noted.metadata).toMatchObject({ own: 1 });
  expect(Object.keys(toolTimesOf(noted))).toEqual(["a", "b"]);
  expect(toolMilliseconds(noted, "a")).toBeGreaterThanOrEqual(0);
  expect([toolMilliseconds(noted, "b"), toolMilliseconds(noted, "gone")]).toEqual([null, null]);
});

it("keeps when a call was made that is answered later", () => {
  const clock = new ToolClock();
  clock.called("a");
  const before = clock.on(message(call("a", "input-available")));
  const after = answeredNow(before, { ...before, parts: [call("a")] });
  expect(toolTimesOf(after).a?.calledAt).toBe(toolTimesOf(before).a?.calledAt);
  expect(toolMilliseconds(after, "a")).toBeGreaterThanOrEqual(0);
});

it("gives no time to calls of one id, or of none, or to what was damaged", () => {
  const clock = new ToolClock();
  for (const id of ["a", "a"]) {
    clock.called(id);
    clock.answered(id);
  }
  expect(toolMilliseconds(clock.on(message(call("a"), call("a"))), "a")).toBe(null);
  const plain = message({ type: "text", text: "no call" });
  expect(clock.on(plain)).toBe(plain);
  for (const toolTimes of [null, 1, { a: 1 }, { a: { calledAt: "x", answeredAt: "y" } }]) {
    expect(toolMilliseconds({ metadata: { toolTimes } }, "a")).toBe(null);
  }
  expect(toolMilliseconds({ metadata: { toolTimes: {} } }, "__proto__")).toBe(null);
});

it("writes durations as people read them", () => {
  const written = [0, 340, 1240, 59_940, 59_960, 125_000, 7_500_000].map(formatDuration);
  expect(written).toEqual(["0 ms", "340 ms", "1.2 s", "59.9 s", "1 min 0 s", "2 min 5 s", "2 h 5 min"]);
});
