import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { basename, dirname } from "node:path";

/** What a program did to the files of a folder, and what it said, in order. Names are those of files in the folder. */
export type Event =
  | { readonly do: "create" | "remove" | "sync"; readonly name: string }
  | { readonly do: "write"; readonly name: string; readonly at: number; readonly data: Buffer }
  | { readonly do: "cut"; readonly name: string; readonly length: number }
  | { readonly do: "rename"; readonly name: string; readonly to: string }
  | { readonly do: "sync names" }
  | { readonly do: "say"; readonly line: string };

const CALLS = "openat,pwrite64,write,ftruncate,fsync,fdatasync,unlink,rename";

/** Runs a program of Node under strace. What it writes without a system call, through a mapping, is not seen: SQLite does so with its `-shm` only. */
export function record(program: string, args: readonly string[], folder: string, log: string): Event[] {
  const options = ["-f", "-y", "-qq", "-xx", "-s", "10000000", "-e", `trace=${CALLS}`, "-e", "signal=none", "-o", log];
  const { status, stderr, error } = spawnSync("strace", [...options, process.execPath, program, ...args]);
  if (error !== undefined) throw new Error("This row needs strace.", { cause: error });
  if (status !== 0) throw new Error(`The program ended with ${status}: ${stderr}`);
  const places = new Map<string, number>();
  return callsOf(readFileSync(log, "latin1")).flatMap((call) => eventOf(call, folder, places));
}

/** A system call: its texts in order, a descriptor's path among them, the numbers behind the last text, and what it gave. */
interface Call {
  readonly name: string;
  readonly text: string;
  readonly texts: readonly Buffer[];
  readonly numbers: readonly number[];
}

// A call that another thread came into is written in two pieces.
function callsOf(log: string): Call[] {
  const begun = new Map<string, string>();
  return log.split("\n").flatMap((line) => {
    const [, thread = "", rest = ""] = /^(\d+)\s+(.*)$/.exec(line) ?? [];
    if (rest.endsWith("<unfinished ...>")) {
      // A space stands before it, which stands before no parenthesis of a call in one piece.
      begun.set(thread, rest.slice(0, -"<unfinished ...>".length).trimEnd());
      return [];
    }
    const text = rest.replace(/^<\.\.\. \w+ resumed>/, () => begun.get(thread) ?? "");
    if (!/ = \d/.test(text)) return [];
    const texts = [...text.matchAll(/[<"]((?:\\x[0-9a-f]{2})*)[>"]/g)].map(([, hex = ""]) =>
      Buffer.from(hex.replaceAll("\\x", ""), "hex"),
    );
    const numbers = /((?:, \d+)*)\)\s+= \d+/.exec(text)?.[1] ?? "";
    const name = text.slice(0, text.indexOf("("));
    return [{ name, text, texts, numbers: numbers.split(", ").slice(1).map(Number) }];
  });
}

function eventOf({ name, text, texts, numbers }: Call, folder: string, places: Map<string, number>): Event[] {
  const [first = Buffer.alloc(0), second = Buffer.alloc(0)] = texts;
  const path = (name === "openat" ? second : first).toString();
  if (name === "write" && text.startsWith("write(1<")) return [{ do: "say", line: second.toString().trim() }];
  if (path === folder && name.endsWith("sync")) return [{ do: "sync names" }];
  if (dirname(path) !== folder || path.endsWith("-shm")) return [];
  const file = basename(path);
  if (name === "openat") return text.includes("O_CREAT") ? [{ do: "create", name: file }] : [];
  if (name === "unlink") return [{ do: "remove", name: file }];
  if (name === "rename") return [{ do: "rename", name: file, to: basename(second.toString()) }];
  if (name === "ftruncate") return [{ do: "cut", name: file, length: numbers[0] ?? 0 }];
  if (name === "pwrite64") return [{ do: "write", name: file, at: numbers[1] ?? 0, data: second }];
  if (name !== "write") return [{ do: "sync", name: file }];
  const at = places.get(file) ?? 0;
  places.set(file, at + second.length);
  return [{ do: "write", name: file, at, data: second }];
}
