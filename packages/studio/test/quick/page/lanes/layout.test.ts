import { expect, it } from "vitest";
import { LaneLayout, type Node } from "../../../../src/page/lanes/layout.js";

// "c<b" is the message c below b; newest first.
const nodes = (text: string): Node[] =>
  text.split(" ").map((each) => {
    const [id = "", parentId] = each.split("<");
    return { id, parentId: parentId ?? null };
  });
const lanes = (text: string, leaf: string | null = null) => new LaneLayout(leaf).add(nodes(text));

it("draws one branch as one lane", () => {
  const { rows, width } = lanes("c<b b<a a", "c");
  expect(width).toBe(1);
  expect(rows).toEqual([
    { lane: 0, comesFromAbove: false, parentLane: 0, joiningLane: null, passing: [], isFork: false },
    { lane: 0, comesFromAbove: true, parentLane: 0, joiningLane: null, passing: [], isFork: false },
    { lane: 0, comesFromAbove: true, parentLane: null, joiningLane: null, passing: [], isFork: false },
  ]);
});

it("keeps lane 0 for the path to the main leaf, also where newer messages stand on others", () => {
  const { rows } = lanes("d<a c<b b<a a", "c");
  expect(rows.map(({ lane }) => lane)).toEqual([1, 0, 0, 0]);
  expect(rows[2]).toMatchObject({ lane: 0, joiningLane: 1, passing: [] });
});

it("joins lines that lead to the same message, and marks that message as a fork", () => {
  const { rows, width } = lanes("d<a c<a b<a a", "b");
  expect(rows.map(({ lane, parentLane }) => [lane, parentLane])).toEqual([
    [1, 1],
    [2, 1],
    [0, 0],
    [0, null],
  ]);
  expect(rows.map(({ isFork }) => isFork)).toEqual([false, false, false, true]);
  expect(width).toBe(3);
});

it("needs two lanes for a thousand siblings", () => {
  const siblings = Array.from({ length: 1000 }, (_, each): Node => ({ id: `s${each}`, parentId: "root" }));
  expect(new LaneLayout(null).add([...siblings, { id: "root", parentId: null }]).width).toBeLessThanOrEqual(2);
});

it("lets other lanes pass by", () => {
  const { rows } = lanes("e<c d<b c<a b<a a", "e");
  expect(rows[1]).toMatchObject({ lane: 1, passing: [0] });
  expect(rows[2]).toMatchObject({ lane: 0, passing: [1], comesFromAbove: true });
});

it("lays out page by page as it does at once", () => {
  const all = nodes("i<g h<f g<e f<e e<a d<c c<b b<a a");
  const layout = new LaneLayout("i");
  layout.add(all.slice(0, 4));
  expect(layout.add(all.slice(4))).toEqual(new LaneLayout("i").add(all));
});

it("goes on when a parent is missing, and uses lanes again that are free", () => {
  const { rows, width } = lanes("c<gone b d<x x", null);
  expect(rows.map(({ lane }) => lane)).toEqual([0, 1, 1, 1]);
  expect(width).toBe(2);
});
