import { afterEach, describe, expect, it, vi } from "vitest";
import { SessionEvents } from "../../../src/session/events.js";

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

describe("an error that nobody hears", () => {
  const failure = new RangeError("the model is away");
  const warned = () => {
    const warn = vi.fn();
    vi.stubGlobal("console", { warn });
    return warn;
  };

  it("is one warning for a session object", () => {
    const warn = warned();
    const events = new SessionEvents(null, "s");
    for (let time = 0; time < 3; time += 1) events.emitError(failure);
    expect(warn.mock.calls).toEqual([[expect.stringContaining('Session "s": the model is away')]]);
    new SessionEvents(null, "t").emitError(failure);
    expect(warn).toHaveBeenCalledTimes(2);
  });

  it("is none where someone is subscribed, or a callback or the agent's clients are told", () => {
    const warn = warned();
    const events = new SessionEvents(null, "s");
    events.emitError(failure, true);
    const unsubscribe = events.subscribe(() => {});
    events.emitError(failure);
    unsubscribe();
    new SessionEvents({ broadcast: () => {} }, "s").emitError(failure);
    expect(warn).not.toHaveBeenCalled();
    // Code of ours that watches is nobody.
    events.watch(() => {});
    events.emitError(failure);
    expect(warn).toHaveBeenCalledTimes(1);
  });
});
