import { expect, it } from "vitest";
import { lineDifference } from "../../../../src/mcp/install/toml-edit.js";

it("shows what goes and comes with two lines around it", () => {
  expect(lineDifference("a\nb\nc\nold\nd\ne\nf\n", "a\nb\nc\nnew\nd\ne\nf\n")).toEqual([
    ...["  b", "  c", "- old", "+ new", "  d", "  e"],
  ]);
});

it("takes no notice of how lines end", () => {
  expect(lineDifference('{\r\n  "a": 1\r\n}', '{\n  "a": 1\n}\n')).toEqual([]);
  expect(lineDifference("", "a\n")).toEqual(["+ a"]);
});
