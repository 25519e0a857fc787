import { afterEach, expect, it, vi } from "vitest";
import { SessionEvents } from "./events.js";

afterEach(() => vi.unstubAllGlobals());

it("reports a listener that throws as an unhandled error, which disturbs neither the others nor the caller", () => {
  const unhandled: (() => void)[] = [];
  vi.stubGlobal("queueMicrotask", (task: () => void) => unhandled.push(task));
  const seen: string[] = [];
  const broadcast = () => {
    throw new RangeError("of the agent");
  };
  const events = new SessionEvents({ broadcast }, "s");
  events.subscribe(() => {
    throw new RangeError("of a listener");
  });
  events.subscribe(({ type }) => seen.push(type));
  events.emit({ type: "cf_agent_session_error", error: "x" });
  expect(seen).toEqual(["cf_agent_session_error"]);
  expect(unhandled).toHaveLength(2);
  expect(unhandled[0]).toThrow("of the agent");
  expect(unhandled[1]).toThrow("of a listener");
});

it("calls a listener that was subscribed twice twice, until each is taken back", () => {
  let calls = 0;
  const events = new SessionEvents(null, "s");
  const listener = () => {
    calls += 1;
  };
  const [first, second] = [events.subscribe(listener), events.subscribe(listener)];
  const emit = () => events.emit({ type: "messages", change: "clear", ids: [] });
  emit();
  expect([calls, events.observed]).toEqual([2, true]);
  first();
  emit();
  expect(calls).toBe(3);
  second();
  emit();
  expect([calls, events.observed]).toEqual([3, false]);
});
