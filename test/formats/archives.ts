import zlib from "node:zlib";

/** A file of a zip, and what is wrong with it. */
export interface ZipEntry {
  name: string;
  data: Uint8Array;
  /** Bits of the general purpose flag: 1 is "encrypted". */
  flags?: number;
  crc?: number;
  /** The size that is claimed of the unpacked data. */
  size?: number;
  /** The place of another entry whose data this one has too. */
  sameAs?: number;
}

/** A zip file of deflated entries. */
export function zipOf(entries: readonly ZipEntry[]): Uint8Array {
  const files: Buffer[] = [];
  const directory: Buffer[] = [];
  const offsets: number[] = [];
  let offset = 0;
  for (const { name, data, flags = 0, crc = zlib.crc32(data), size = data.length, sameAs } of entries) {
    const packed = zlib.deflateRawSync(data);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(flags, 2);
    common.writeUInt16LE(8, 4);
    common.writeUInt32LE(crc, 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(size, 18);
    common.writeUInt16LE(Buffer.byteLength(name), 22);
    const file = Buffer.concat([Buffer.from("PK\x03\x04", "latin1"), common, Buffer.from(name), packed]);
    const at = sameAs === undefined ? offset : (offsets[sameAs] ?? 0);
    offsets.push(at);
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE(at, 10);
    directory.push(Buffer.concat([Buffer.from("PK\x01\x02\x14\x00", "latin1"), common, tail, Buffer.from(name)]));
    if (sameAs !== undefined) continue;
    files.push(file);
    offset += file.length;
  }
  const central = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", 0, "latin1");
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(central.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...files, central, end]);
}

/** A Zstandard frame of blocks that are not compressed, and, to make a bomb, of blocks that repeat one byte. */
export function zstdOf(data: Uint8Array, repeatedBlocks = 0): Uint8Array {
  const most = 128 * 1024;
  const header = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, 0x38]);
  const blocks: Buffer[] = [];
  for (let start = 0; start < data.length || start === 0; start += most) {
    const piece = data.subarray(start, start + most);
    const isLast = start + most >= data.length && repeatedBlocks === 0;
    blocks.push(blockHeader(piece.length, 0, isLast), Buffer.from(piece));
  }
  for (let count = 1; count <= repeatedBlocks; count += 1) {
    blocks.push(blockHeader(most, 1, count === repeatedBlocks), Buffer.from(" "));
  }
  return Buffer.concat([header, ...blocks]);
}

function blockHeader(size: number, type: number, isLast: boolean): Buffer {
  const header = Buffer.alloc(3);
  header.writeUIntLE((size << 3) | (type << 1) | (isLast ? 1 : 0), 0, 3);
  return header;
}
