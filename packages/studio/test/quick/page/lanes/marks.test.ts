import { expect, it } from "vitest";
import { coveredPlaces, NewestLeaf, pathPlaces } from "../../../../src/page/lanes/layout.js";

// e stands below c, d and c below b, b below a.
const nodes = [
  { id: "e", parentId: "c" },
  { id: "d", parentId: "b" },
  { id: "c", parentId: "b" },
  { id: "b", parentId: "a" },
  { id: "a", parentId: null },
];

it("finds the path to a leaf", () => {
  expect([...pathPlaces(nodes, "d")]).toEqual([1, 3, 4]);
  expect([...pathPlaces(nodes, null)]).toEqual([]);
});

it("finds what summaries cover, also where they overlap", () => {
  expect([...coveredPlaces(nodes, [{ fromMessageId: "b", toMessageId: "c" }])]).toEqual([2, 3]);
  const overlapping = [
    { fromMessageId: "a", toMessageId: "b" },
    { fromMessageId: "b", toMessageId: "e" },
  ];
  expect([...coveredPlaces(nodes, overlapping)]).toEqual([0, 2, 3, 4]);
});

it("knows the newest leaf below each message, page by page", () => {
  const leaves = new NewestLeaf();
  leaves.add(nodes.slice(0, 2));
  expect(["e", "d", "c", "b", "a"].map((id) => leaves.below(id))).toEqual(["e", "d", "e", "d", null]);
  leaves.add(nodes.slice(2));
  expect(["c", "b", "a"].map((id) => leaves.below(id))).toEqual(["e", "d", "d"]);
});
