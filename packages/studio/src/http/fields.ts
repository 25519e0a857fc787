import { invalid, isJsonObject, type JsonObject } from "@stemma/model";

/** The parameters of a request: of a query, where each is a text, or of a posted object. Each reader fails with `INVALID_ARGUMENT`. */
export class Fields {
  constructor(private readonly values: Readonly<JsonObject>) {}

  /** Of several parameters of one name the last one counts. */
  static ofQuery(query: URLSearchParams): Fields {
    return new Fields(Object.fromEntries(query));
  }

  text(name: string): string {
    return this.optionalText(name) ?? wrong(name, "is missing");
  }

  optionalText(name: string): string | undefined {
    const value = this.#value(name);
    if (value === undefined || value === null) return undefined;
    return typeof value === "string" ? value : wrong(name, "must be a text");
  }

  /** Null where it is given as null; undefined where it is missing. */
  nullableText(name: string): string | null | undefined {
    return this.#value(name) === null ? null : this.optionalText(name);
  }

  texts(name: string): string[] {
    const value = this.#value(name);
    if (Array.isArray(value) && value.every((text) => typeof text === "string")) return value;
    return wrong(name, "must be an array of texts");
  }

  /** A whole number from 0. */
  whole(name: string): number {
    return this.optionalWhole(name) ?? wrong(name, "is missing");
  }

  optionalWhole(name: string): number | undefined {
    const value = this.#value(name);
    if (value === undefined) return undefined;
    const number = typeof value === "string" && /^\d+$/.test(value) ? Number(value) : value;
    return Number.isSafeInteger(number) && (number as number) >= 0
      ? (number as number)
      : wrong(name, "must be a whole number from 0");
  }

  /** How many of something a page gives: from 1 to `most`. */
  limit(usual: number, most: number): number {
    const limit = this.optionalWhole("limit") ?? usual;
    return limit >= 1 && limit <= most ? limit : wrong("limit", `must be a whole number from 1 to ${most}`);
  }

  /** A point in time as ISO text, in milliseconds since 1970. */
  optionalTime(name: string): number | undefined {
    const text = this.optionalText(name);
    if (text === undefined || text === "") return undefined;
    const time = new Date(text).getTime();
    return Number.isNaN(time) ? wrong(name, "must be a time as ISO text") : time;
  }

  flag(name: string): boolean {
    return this.optionalText(name) === "1";
  }

  /** The only value among these; without one the first. */
  oneOf<const T extends string>(name: string, known: readonly [T, ...T[]]): T {
    const value = this.optionalText(name) ?? known[0];
    return known.find((each) => each === value) ?? wrong(name, `must be ${known.join(" or ")}`);
  }

  /** A posted object. */
  fields(name: string): Fields {
    const value = this.#value(name);
    return isJsonObject(value) ? new Fields(value) : wrong(name, "must be an object");
  }

  #value(name: string): unknown {
    return Object.hasOwn(this.values, name) ? this.values[name] : undefined;
  }
}

function wrong(name: string, rule: string): never {
  throw invalid(`"${name}" ${rule}.`, { name });
}
