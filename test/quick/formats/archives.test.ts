import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readItems } from "../../../packages/formats/src/json-items.js";
import { readSessionFile, readSessions } from "../../../packages/formats/src/read.js";
import { collect, inPieces, jsonl } from "../../cli/read.js";
import { temporaryFolder } from "../../cli/run.js";
import { type ZipEntry, zipOf, zstdOf } from "../../formats/archives.js";
import { Transcript } from "../../formats/claude-code-lines.js";

const folder = temporaryFolder();
const ID = "11111111-1111-4111-8111-111111111111";
const bytesOf = (value: unknown) => new TextEncoder().encode(typeof value === "string" ? value : JSON.stringify(value));
const conversations = (id: string) =>
  bytesOf([{ uuid: id, name: id, chat_messages: [{ uuid: "m", sender: "human", text: "Hi" }] }]);
const good: ZipEntry = { name: "conversations.json", data: conversations("c1") };

let files = 0;
async function read(bytes: Uint8Array): Promise<{ ids: string[]; error: unknown }> {
  files += 1;
  const path = join(folder, `export-${files}.zip`);
  writeFileSync(path, bytes);
  const ids: string[] = [];
  try {
    for await (const { id } of readSessionFile(path)) ids.push(id);
    return { ids, error: null };
  } catch (error) {
    return { ids, error };
  }
}

const refused = (why: RegExp) =>
  expect.objectContaining({ code: "ARCHIVE_REFUSED", message: expect.stringMatching(why) });

describe("a zip file", () => {
  it("gives the conversations of each of its files that has some", async () => {
    const second = { name: "a/conversations-2.json", data: conversations("c2") };
    expect(await read(zipOf([{ name: "users.json", data: bytesOf([]) }, good, second]))).toEqual({
      ids: ["c1", "c2"],
      error: null,
    });
  });

  const hostile: [string, Uint8Array, RegExp][] = [
    ["without conversations", zipOf([{ name: "x.json", data: bytesOf([]) }]), /no conversations\.json/],
    ["that was cut", zipOf([good]).subarray(0, -30), /truncated|signature|not a zip/i],
    ["of which only the beginning is there", zipOf([good]).subarray(0, 20), /truncated|signature|not a zip/i],
    [
      "with a path that leads out of its folder",
      zipOf([{ ...good, name: "../../conversations.json" }]),
      /relative path/,
    ],
    ["with an absolute path", zipOf([{ ...good, name: "/etc/conversations.json" }]), /absolute path/],
    ["that is encrypted", zipOf([{ ...good, flags: 1 }]), /encrypted/],
    ["that has a file twice", zipOf([good, good]), /twice/],
    ["whose files overlap", zipOf([good, { ...good, name: "b/conversations.json", sameAs: 0 }]), /overlaps/],
    ["that becomes far more than it is", zipOf([{ ...good, data: bytesOf(`[${" ".repeat(7e7)}]`) }]), /200 times/],
    [
      "that lies about what it becomes",
      zipOf([{ ...good, data: bytesOf(`[${" ".repeat(1e6)}]`), size: 100 }]),
      /too many bytes/,
    ],
  ];
  it.each(hostile)("%s ends in a clear report", async (_, bytes, why) => {
    expect(await read(bytes)).toEqual({ ids: [], error: refused(why) });
  });

  it("whose checksum is another one gives what could be read, and says so", async () => {
    expect(await read(zipOf([{ ...good, crc: 1 }]))).toEqual({ ids: ["c1"], error: refused(/checksum/) });
  });

  it("with more files than an export has ends in a clear report", async () => {
    const end = Buffer.alloc(22);
    end.write("PK\x05\x06", 0, "latin1");
    end.writeUInt16LE(65_534, 8);
    end.writeUInt16LE(65_534, 10);
    expect(await read(Buffer.concat([Buffer.from("PK\x03\x04", "latin1"), end]))).toEqual({
      ids: [],
      error: refused(/./),
    });
  });

  it("cannot come from a stream", async () => {
    await expect(collect(readSessions(pieces(zipOf([good]))))).rejects.toEqual(refused(/stream/));
  });
});

describe("a file with Zstandard", () => {
  const transcript = new Transcript(ID);
  transcript.user(null, "Hello");
  const text = jsonl(transcript.lines);

  it("is unpacked while it is read", async () => {
    const [session] = await collect(readSessions(pieces(zstdOf(bytesOf(text))), { name: `${ID}.jsonl.zst` }));
    expect(session).toMatchObject({ id: ID, name: "Hello" });
  });

  it("that was cut gives what could be read, and says so", async () => {
    const frame = zstdOf(bytesOf(text + jsonl([{ type: "mode", text: "x".repeat(300_000) }])));
    const ids: string[] = [];
    const reading = (async () => {
      for await (const { id } of readSessions(pieces(frame.subarray(0, -1000)), { name: `${ID}.jsonl.zst` }))
        ids.push(id);
    })();
    await expect(reading).rejects.toEqual(refused(/damaged or cut/));
    expect(ids).toEqual([ID]);
  });

  it("that is damaged, or a bomb, ends in a clear report", async () => {
    await expect(collect(readSessions(pieces(zstdOf(bytesOf(text)).fill(255, 8, 20))))).rejects.toEqual(
      refused(/damaged or cut/),
    );
    await expect(collect(readSessions(pieces(zstdOf(bytesOf(text), 4000))))).rejects.toEqual(refused(/200 times/));
  });
});

describe("hostile JSON", () => {
  const entry = { uuid: "u", parentUuid: null, sessionId: ID, type: "user", message: { role: "user", content: "Hi" } };
  const read1 = async (line: string) => {
    const [session] = await collect(
      readSessions(pieces(bytesOf(`${JSON.stringify(entry)}\n${line}\n`)), { name: `${ID}.jsonl` }),
    );
    return session;
  };

  it("that is nested too deep, or cannot be parsed, is left out and told", async () => {
    const deep = `{"type":"x","a":${"[".repeat(20_000)}${"]".repeat(20_000)}}`;
    expect(await read1(deep)).toMatchObject({
      messages: [{}],
      skipped: [{ line: 2, why: expect.stringContaining("too deep") }],
    });
    expect(await read1('{"type":')).toMatchObject({
      messages: [{}],
      skipped: [{ line: 2, why: expect.stringContaining("not JSON") }],
    });
  });

  it("with fields that JavaScript has its own use for is data", async () => {
    const session = await read1(
      '{"type":"__proto__","uuid":"constructor","parentUuid":"u","__proto__":{"polluted":1}}',
    );
    expect(Object.hasOwn(session?.kept?.at(-1)?.source ?? {}, "__proto__")).toBe(true);
    expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
  });

  it("counts the last of a field that stands twice", async () => {
    const twice = '{"uuid":"w","parentUuid":"u","type":"user","type":"assistant","message":{"content":"Yes"}}';
    expect((await read1(twice))?.messages[1]?.message.role).toBe("assistant");
  });

  it("with a text that is too long is left out, wherever it stands", async () => {
    const long = JSON.stringify({ a: "x".repeat(500) });
    for (const text of [`{"b":1}\n${long}\n{"c":1}`, `[{"b":1},${long},{"c":1}]`]) {
      const items = await collect(readItems(inPieces(text), 100));
      expect(items.map((item) => (item.kind === "value" ? item.value : item.kind)).slice(0, 3)).toEqual([
        { b: 1 },
        "problem",
        { c: 1 },
      ]);
    }
  });
});

async function* pieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += 1000) yield bytes.subarray(start, start + 1000);
}
