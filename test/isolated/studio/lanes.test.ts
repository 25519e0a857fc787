import { expect, it } from "vitest";
import { LaneLayout } from "../../../packages/studio/src/page/lanes/layout.js";
import { expectLinear } from "../../helpers/linear.js";

it("lanes of a tree take time that grows as its messages do", async () => {
  await expectLinear(20_000, (count) => {
    const many = Array.from({ length: count }, (_, row) => ({ id: `${row}`, parentId: `${row + 60}` }));
    expect(new LaneLayout("0").add(many).width).toBe(60);
  });
});
