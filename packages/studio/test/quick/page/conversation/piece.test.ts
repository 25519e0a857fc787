import { expect, it } from "vitest";
import type { MessagePage } from "../../../../src/api.js";
import { asPiece, extended, MOST_ROWS } from "../../../../src/page/conversation/piece.js";

const page = (from: number, to: number, ends: { hasOlder: boolean; hasNewer: boolean }): MessagePage => ({
  messages: Array.from({ length: to - from }, (_, each) => {
    const id = `m${from + each}`;
    return { message: { id, role: "user", parts: [] }, tokens: 1, siblings: [id], compactionId: null };
  }),
  leafId: null,
  originals: false,
  ...ends,
});
const ids = (piece: ReturnType<typeof asPiece>) => [piece.rows[0]?.message.id, piece.rows.at(-1)?.message.id];

it("drops the newest when too many older ones were added, and tells that there are newer", () => {
  const piece = asPiece(page(100, 100 + MOST_ROWS, { hasOlder: true, hasNewer: false }), "place");
  const longer = extended(piece, page(60, 100, { hasOlder: false, hasNewer: true }), "older");
  expect(ids(longer)).toEqual(["m60", `m${60 + MOST_ROWS - 1}`]);
  expect(longer).toMatchObject({ hasOlder: false, hasNewer: true, cause: "more" });
});

it("drops the oldest when too many newer ones were added, and tells that there are older", () => {
  const piece = asPiece(page(0, MOST_ROWS, { hasOlder: false, hasNewer: true }), "place");
  const longer = extended(piece, page(MOST_ROWS, MOST_ROWS + 10, { hasOlder: true, hasNewer: false }), "newer");
  expect(ids(longer)).toEqual(["m10", `m${MOST_ROWS + 9}`]);
  expect(longer).toMatchObject({ hasOlder: true, hasNewer: false });
});
