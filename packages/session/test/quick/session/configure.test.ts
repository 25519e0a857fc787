import { describe, expect, it } from "vitest";
import { createCompactFunction } from "../../../../model/src/compaction/compact.js";
import { memory } from "../../../../store/src/memory.js";
import { SessionManager } from "../../../src/manager/session-manager.js";
import { Session } from "../../../src/session/session.js";

const compact = (tailTokenBudget?: number) => createCompactFunction({ summarize: () => "S", tailTokenBudget });
const refusal = expect.objectContaining({
  code: "INVALID_ARGUMENT",
  message: expect.stringContaining("tailTokenBudget (400)"),
});

describe("a tailTokenBudget that is not below the threshold of compactAfter()", () => {
  const hosts = {
    "a session": () => Session.create(memory()),
    "a manager": () => SessionManager.create(memory()),
    "a manager of one user": () => SessionManager.create(memory()).forUser("ada"),
  };
  for (const [name, host] of Object.entries(hosts)) {
    it(`is refused by whichever call comes second, of ${name}`, () => {
      for (const threshold of [400, 399, 1]) {
        expect(() => host().onCompaction(compact(400)).compactAfter(threshold)).toThrow(refusal);
        expect(() => host().compactAfter(threshold).onCompaction(compact(400))).toThrow(refusal);
      }
      expect(() => host().onCompaction(compact(400)).compactAfter(401)).not.toThrow();
      // The last call of each counts; without the option the tail fits any threshold.
      expect(() =>
        host().onCompaction(compact(400)).compactAfter(401).onCompaction(compact()).compactAfter(1),
      ).not.toThrow();
      expect(() => host().onCompaction(compact(Number.POSITIVE_INFINITY)).compactAfter(1e9)).toThrow();
    });
  }

  it("is refused by a manager for one user, where the manager before was told one of the two", () => {
    expect(() => SessionManager.create(memory()).compactAfter(400).forUser("ada").onCompaction(compact(400))).toThrow(
      refusal,
    );
  });
});
