import { expect, it } from "vitest";
import { SPAN } from "../../../../store/src/operations/registry/session-head.js";
import { numberSessions } from "../../../src/search/matches.js";

const at = (no: number, index: number) => no * SPAN + index;

it("sessions that share a number are told apart by their ids, and those of one id by their numbers", () => {
  const { sessions, numberOf } = numberSessions([
    { numbers: [at(7, 1), at(7, 1), at(9, 4)], sessions: ["b", "a", "a"], lengths: [3, 4, 5] },
    { numbers: [at(7, 2), at(9, 4)], sessions: ["b", "a"], lengths: [6, 5] },
  ]);
  expect(sessions.map(({ no, id }) => [no, id])).toEqual([
    [7, "a"],
    [7, "b"],
    [9, "a"],
  ]);
  expect([numberOf(at(7, 1), "a", 4), numberOf(at(7, 2), "b", 6), numberOf(at(9, 4), "a", 5)]).toEqual([
    at(1, 1),
    at(2, 2),
    at(3, 4),
  ]);
});

it("a row whose session has no number has none, and numbers come in order, each once", () => {
  const scored = { numbers: [at(7, 1), at(8, 1)], sessions: ["a", "b"], lengths: [3, 4] };
  const { findNumber, numbersOf, lengths } = numberSessions([scored]);
  expect([findNumber(at(7, 3), "a"), findNumber(at(7, 1), "b"), findNumber(at(8, 1), "c")]).toEqual([
    at(1, 3),
    null,
    null,
  ]);
  const numbers = [at(8, 5), at(7, 2), at(9, 1), at(7, 2)];
  expect(numbersOf({ numbers, sessions: ["b", "a", "c", "a"], lengths: [8, 7, 6, 7] })).toEqual([at(1, 2), at(2, 5)]);
  expect([...lengths]).toEqual([
    [at(2, 5), 8],
    [at(1, 2), 7],
  ]);
});
