import { describe, expect, it } from "vitest";
import { collect } from "../../../../test/cli/read.js";
import { readItems } from "../../src/json-items.js";
import { decodeUtf8 } from "../../src/utf8.js";

/** Text, and bytes as numbers, one after the other. */
const bytesOf = (...parts: (string | number[])[]): Uint8Array =>
  Buffer.concat(parts.map((part) => (typeof part === "string" ? Buffer.from(part) : Uint8Array.from(part))));

async function* inPieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  const buffer = new Uint8Array(size);
  for (let start = 0; start < bytes.length; start += size) {
    const piece = bytes.subarray(start, start + size);
    // As a file is read: into one buffer.
    buffer.set(piece);
    yield buffer.subarray(0, piece.length);
  }
}

const decoded = async (bytes: Uint8Array, size = 7) => (await collect(decodeUtf8(inPieces(bytes, size)))).join("");

async function itemsOf(bytes: Uint8Array, size: number): Promise<unknown[]> {
  const items = await collect(readItems(decodeUtf8(inPieces(bytes, size))));
  return items.map((item) =>
    item.kind === "value" ? item.value : item.kind === "problem" ? `${item.at.line}: ${item.why}` : item.kind,
  );
}

const SIZES = [1, 2, 3, 4, 5, 7, 64, 100_000];

describe("decoding a file", () => {
  it("puts characters together that were cut anywhere", async () => {
    const text = '{"a":"é漢🎉\u{10ffff}\u0800\ud7ff\ue000"}\n';
    for (const size of SIZES) expect(await decoded(bytesOf(text), size)).toBe(text);
    for (const size of SIZES)
      expect(await itemsOf(bytesOf([0xef, 0xbb, 0xbf], text), size)).toEqual([JSON.parse(text)]);
    for (const size of SIZES)
      expect(await itemsOf(bytesOf([0xef, 0xbb, 0xbf], `[${text}]`), size)).toEqual([JSON.parse(text), "listEnd"]);
  });

  it("tells a byte that is not UTF-8 with its line and place, and reads every other line", async () => {
    const lines = Array.from({ length: 3000 }, (_, line) => `{"line":${line + 1},"text":"é漢"}`);
    for (const ending of ["\n", "\r\n"]) {
      const before = `${lines.slice(0, 1499).join(ending)}${ending}`;
      const after = `${ending}${lines.slice(1500).join(ending)}`;
      const file = bytesOf(before, '{"line":1500,"text":"é', [0xff], '"}', after);
      for (const size of [5, 64, 65_536]) {
        const items = await itemsOf(file, size);
        expect(items[1499]).toBe("1500: not UTF-8 (0xff, byte 24 of line 1500)");
        expect(items.filter((item) => typeof item === "object")).toHaveLength(2999);
      }
    }
  });

  it("takes nothing for a character that is none", async () => {
    const wrong = [
      [0x80],
      [0xc3],
      [0xc0, 0xaf],
      [0xe0, 0x80, 0x80],
      [0xed, 0xa0, 0x80],
      [0xf4, 0x90, 0x80, 0x80],
      [0xf0, 0x9f, 0x8e],
    ];
    for (const bytes of wrong) {
      const hex = bytes[0]?.toString(16);
      for (const size of SIZES) {
        const file = bytesOf('{"a":1}\n"x', bytes, 'y"\n{"b":2}\n');
        expect(await itemsOf(file, size)).toEqual([{ a: 1 }, `2: not UTF-8 (0x${hex}, byte 3 of line 2)`, { b: 2 }]);
      }
    }
  });

  it("tells the line and the place of a byte within a value of a list, or over several lines", async () => {
    const list = bytesOf('[{"a":"é"}, {"b":"', [0xff], '"},\n {"c":1},\n{\n "d":\n "é', [0xfe], '"}, {"e":2}]');
    const object = bytesOf('{\n"a": "é",\n"b": "', [0x80], '"\n}');
    for (const size of SIZES) {
      expect(await itemsOf(list, size)).toEqual([
        { a: "é" },
        "1: not UTF-8 (0xff, byte 20 of line 1)",
        { c: 1 },
        "3: not UTF-8 (0xfe, byte 5 of line 5)",
        { e: 2 },
        "listEnd",
      ]);
      expect(await itemsOf(object, size)).toEqual(["1: not UTF-8 (0x80, byte 7 of line 3)"]);
    }
  });

  it("reads a last line that is cut in a character as one that is not whole", async () => {
    for (const size of SIZES) {
      const items = await itemsOf(bytesOf('{"a":1}\n{"b":"x', [0xe6, 0xbc]), size);
      expect(items).toEqual([{ a: 1 }, expect.stringMatching(/^2: not JSON/)]);
    }
  });

  it("refuses UTF-16, UTF-32 and zeros at their beginning", async () => {
    const text = '{"a":1}\n';
    const wide = Buffer.from(text, "utf16le");
    for (const file of [bytesOf([0xff, 0xfe], [...wide]), wide, bytesOf([0xfe, 0xff, 0]), new Uint8Array(100)]) {
      for (const size of SIZES) await expect(decoded(file, size)).rejects.toMatchObject({ code: "UNKNOWN_FORMAT" });
    }
    expect(await decoded(bytesOf(""))).toBe("");
    expect(await decoded(bytesOf("1"))).toBe("1");
  });
});
