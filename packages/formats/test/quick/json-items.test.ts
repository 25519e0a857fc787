import { describe, expect, it } from "vitest";
import { itemsOf } from "../../../../test/cli/read.js";

async function valuesOf(text: string, size?: number): Promise<unknown[]> {
  const items = await itemsOf(text, size);
  return items.map((item) => (item.kind === "value" ? item.value : item.kind));
}

describe("reading the values of a file", () => {
  it("reads a line at a time, wherever the text was cut", async () => {
    const text = '{"a":1}\n\n{"b":"two\\nlines"}\r\n{"c":[1,2]}';
    for (const size of [1, 2, 5, 1000])
      expect(await valuesOf(text, size)).toEqual([{ a: 1 }, { b: "two\nlines" }, { c: [1, 2] }]);
  });

  it("does not break a line at U+2028, which JSON allows inside a text", async () => {
    expect(await valuesOf('{"a":"x\u2028y"}\n{"b":1}\n')).toEqual([{ a: "x\u2028y" }, { b: 1 }]);
  });

  it("reads the elements of a list one at a time, and says where the list ends", async () => {
    const text = ' [ {"a":"]},{"}, \n[1,[2]], "x,y" ,3\n]\n';
    for (const size of [1, 3, 1000]) {
      expect(await valuesOf(text, size)).toEqual([{ a: "]},{" }, [1, [2]], "x,y", 3, "listEnd"]);
    }
  });

  it("reads several lists, one behind the other", async () => {
    expect(await valuesOf('[{"a":1}]\n[{"b":2}]')).toEqual([{ a: 1 }, "listEnd", { b: 2 }, "listEnd"]);
  });

  it("reads one object that is written over several lines", async () => {
    expect(await valuesOf(JSON.stringify({ messages: [{ role: "user" }] }, null, 2))).toEqual([
      { messages: [{ role: "user" }] },
    ]);
  });

  it("understands escaped quotes and backslashes", async () => {
    const value = { text: 'say "[{" and \\' };
    expect(await valuesOf(`[${JSON.stringify(value)},1]`, 1)).toEqual([value, 1, "listEnd"]);
  });

  it("reports a line that is not JSON with its number, and reads on", async () => {
    const items = await itemsOf('{"a":1}\n{"a":\n{"b":2}\n');
    expect(items[1]).toMatchObject({ kind: "problem", at: { line: 2 }, why: expect.stringContaining("not JSON") });
    expect(items[2]).toEqual({ kind: "value", value: { b: 2 }, at: { line: 3 }, length: 7 });
  });

  it("reports an element that is not JSON with its place, and reads on", async () => {
    const items = await itemsOf('[{"a":1},\n{a:1},\n{"b":2}]');
    expect(items[1]).toMatchObject({ kind: "problem", at: { line: 2, path: "$[1]" } });
    expect(items[2]).toEqual({ kind: "value", value: { b: 2 }, at: { line: 3, path: "$[2]" }, length: 7 });
  });

  it("reports a list that ends in the middle of a value", async () => {
    const items = await itemsOf('[{"a":1},{"b":');
    expect(items[1]).toEqual({
      kind: "problem",
      why: "the file ends in the middle of a value",
      at: { line: 1, path: "$[1]" },
    });
  });

  it("gives nothing for an empty file", async () => {
    expect(await itemsOf("")).toEqual([]);
    expect(await itemsOf(" \n\n")).toEqual([]);
  });
});
