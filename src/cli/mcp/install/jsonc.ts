/** A value of JSON with comments, and where it stands in the text. */
export interface JsonNode {
  readonly start: number;
  /** Behind its last character. */
  readonly end: number;
  /** Of an object. */
  readonly members?: readonly JsonMember[];
  readonly value: unknown;
}

export interface JsonMember {
  readonly name: string;
  readonly start: number;
  readonly node: JsonNode;
}

const BLANK = /(?:[\s\ufeff]|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y;
const SCALAR = /"(?:[^"\\\n]|\\.)*"|-?\d[\d.eE+-]*|true|false|null/y;

/** Reads JSON in which comments and commas behind the last member may stand; null for anything else. */
export function findJson(text: string): JsonNode | null {
  try {
    const reader = new Reader(text);
    const node = reader.node();
    reader.skipBlank();
    return reader.at === text.length ? node : null;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof RangeError) return null;
    throw error;
  }
}

class Reader {
  at = 0;

  constructor(private readonly text: string) {}

  skipBlank(): void {
    this.#take(BLANK);
  }

  node(): JsonNode {
    this.skipBlank();
    const start = this.at;
    if (this.#is("{")) return this.#object(start);
    if (this.#is("[")) return this.#array(start);
    const value: unknown = JSON.parse(this.#take(SCALAR));
    return { start, end: this.at, value };
  }

  #object(start: number): JsonNode {
    const members: JsonMember[] = [];
    this.#items("}", () => {
      const from = this.at;
      const name: unknown = JSON.parse(this.#take(SCALAR));
      if (typeof name !== "string") throw new SyntaxError("A name is a text.");
      this.skipBlank();
      if (!this.#is(":")) throw new SyntaxError("A colon is missing.");
      members.push({ name, start: from, node: this.node() });
    });
    const value = Object.fromEntries(members.map(({ name, node }) => [name, node.value]));
    return { start, end: this.at, members, value };
  }

  #array(start: number): JsonNode {
    const value: unknown[] = [];
    this.#items("]", () => value.push(this.node().value));
    return { start, end: this.at, value };
  }

  #items(close: string, read: () => void): void {
    for (;;) {
      this.skipBlank();
      if (this.#is(close)) return;
      read();
      this.skipBlank();
      if (this.#is(",")) continue;
      if (this.#is(close)) return;
      throw new SyntaxError(`"${close}" is missing.`);
    }
  }

  #is(character: string): boolean {
    if (this.text[this.at] !== character) return false;
    this.at += 1;
    return true;
  }

  #take(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0];
    if (found === undefined) throw new SyntaxError("A value is missing.");
    this.at += found.length;
    return found;
  }
}
