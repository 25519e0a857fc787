/** Where the page is: the path behind the base, and the query. */
export interface Place {
  readonly path: string;
  readonly query: URLSearchParams;
}

export type Query = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** The place that an address names. `base` is the path under which the studio stands, without a slash at its end. */
export function placeOf(address: string, base: string): Place {
  const [pathname = "", search = ""] = splitAt(address.split("#")[0] ?? "", "?");
  const below = pathname.startsWith(base) ? pathname.slice(base.length) : pathname;
  const path = `/${below.replace(/^\/+|\/+$/g, "")}`;
  return { path, query: new URLSearchParams(search) };
}

/** The address of a page. Values that are absent, empty or false are left out; true is written as 1. */
export function addressOf(path: string, query: Query, base: string): string {
  const text = new URLSearchParams(
    Object.entries(query).flatMap(([name, value]): [string, string][] =>
      value === null || value === undefined || value === "" || value === false
        ? []
        : [[name, value === true ? "1" : String(value)]],
    ),
  ).toString();
  return `${base}${path}${text === "" ? "" : `?${text}`}`;
}

/** The query with some of its values replaced; null removes one. */
export function changedQuery(query: URLSearchParams, changes: Query): Query {
  return { ...Object.fromEntries(query), ...changes };
}

function splitAt(text: string, mark: string): [string, string] {
  const position = text.indexOf(mark);
  return position < 0 ? [text, ""] : [text.slice(0, position), text.slice(position + mark.length)];
}
