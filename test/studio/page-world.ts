import type { MessageRow, SessionRow, StudioInfo } from "../../packages/studio/src/api.js";

/** What a browser would run if the page took a text for HTML, a style or a script. */
export const HOSTILE = [
  "<img src=x onerror=\"window.hacked='img'\">",
  "<script>window.hacked='script'</script>",
  '"><svg onload="window.hacked=\'svg\'">',
  "[click](javascript:window.hacked='link')",
  "![x](javascript:window.hacked='image')",
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it must not become one.
  "`${window.hacked='template'}`",
  "</textarea><iframe srcdoc=\"<script>parent.hacked='frame'</script>\">",
  "<a href=\"data:text/html,<script>opener.hacked='data'</script>\">x</a>",
];

/** Data for the page, made as they are asked for. */
export interface World {
  readonly info: StudioInfo;
  readonly sessionCount: number;
  readonly session: (place: number) => SessionRow;
  /** How many messages stand on the active branch of the session that is opened. */
  pathLength: number;
  readonly message: (place: number) => MessageRow;
  /** How many lanes the tree has. */
  readonly lanes: number;
  readonly hasMemory: boolean;
}

const NOW = Date.parse("2026-11-22T12:00:00Z");
const TOPICS = ["Trip to Lisbon", "Invoice 2291", "Slow query on orders", "Birthday of Ada", "Refactor the parser"];
const ANSWER = `Here is what I found.

## The plan

1. Read \`orders.ts\` and its **index**
2. Measure with *explain*
   - before the change
   - after it

\`\`\`sql
select id, total from orders where user_id = $1 order by created_at desc limit 20;
\`\`\`

| step | before | after |
|------|-------:|------:|
| scan | 412 ms | 3 ms |
| sort | 80 ms | 0 ms |

> An index on \`(user_id, created_at)\` serves both.

More at https://www.postgresql.org/docs/current/indexes.html.`;

export function timeOf(minutesAgo: number): string {
  return new Date(NOW - minutesAgo * 60_000).toISOString();
}

function textMessage(place: number, role: string, parts: MessageRow["message"]["parts"]): MessageRow {
  const id = `m${place}`;
  const message = { id, role, parts, createdAt: timeOf((100_000 - place) * 2) };
  return { message, tokens: 20 + (place % 7) * 31, siblings: [id], compactionId: null };
}

function ordinaryMessage(place: number): MessageRow {
  if (place % 2 === 0)
    return textMessage(place, "user", [{ type: "text", text: `Question ${place}: why is it slow?` }]);
  const parts: MessageRow["message"]["parts"] = [{ type: "text", text: place % 6 === 1 ? ANSWER : `Answer ${place}.` }];
  if (place % 10 === 3) {
    parts.unshift(
      { type: "reasoning", text: "The user means the query on **orders**." },
      {
        type: "tool-search_orders",
        toolCallId: `call_${place}`,
        state: place % 20 === 3 ? "output-available" : "output-error",
        input: { user_id: 42, limit: 20, nested: { deep: [1, 2, 3] } },
        ...(place % 20 === 3 ? { output: { rows: 20, took: "412 ms" } } : { errorText: "The connection was refused." }),
      },
    );
  }
  if (place % 10 === 7) {
    parts.push(
      {
        type: "file",
        mediaType: "image/png",
        filename: "plan.png",
        url: { $media: { mediaType: "image/png", bytes: 20_480, path: "/parts/1/url" } },
      },
      { type: "file", mediaType: "image/jpeg", url: "https://example.test/remote.jpg" },
    );
  }
  const row = textMessage(place, "assistant", parts);
  return place % 10 === 9 ? { ...row, siblings: [`m${place}-a`, row.message.id, `m${place}-b`] } : row;
}

function deep(levels: number): unknown {
  let value: unknown = "bottom";
  for (let level = 0; level < levels; level += 1) value = { [`level ${level}`]: value };
  return value;
}

function monstrousMessage(place: number): MessageRow {
  const kinds: (() => MessageRow)[] = [
    () => textMessage(place, "user", [{ type: "text", text: HOSTILE[place % HOSTILE.length] ?? "" }]),
    () =>
      textMessage(
        place,
        "assistant",
        HOSTILE.map((text) => ({ type: text, text, [text]: text })),
      ),
    () => textMessage(place, "user", [{ type: "text", text: "x".repeat(1_000_000) }]),
    () =>
      textMessage(place, "assistant", [
        { type: "text", text: "مرحبا بالعالم، هذا نص طويل من اليمين إلى اليسار. ".repeat(6) },
      ]),
    () =>
      textMessage(place, "👩‍👩‍👧‍👦".repeat(60), [
        { type: "text", text: "🙂🎉🚀 e\u0301\u0327 \u202Ereversed ".repeat(20) },
      ]),
    () =>
      textMessage(place, "assistant", [
        {
          type: `tool-${"long_tool_name_".repeat(30)}`,
          state: "input-available",
          toolCallId: "c".repeat(300),
          input: deep(400),
        },
      ]),
    () =>
      textMessage(place, "assistant", [{ type: "text", text: `${"> ".repeat(500)}deep\n${"- a\n  ".repeat(300)}` }]),
    () => textMessage(place, "system", []),
  ];
  const make = kinds[place % kinds.length] as () => MessageRow;
  const row = place % 3 === 0 ? make() : ordinaryMessage(place);
  const siblings = Array.from({ length: 1000 }, (_, each) =>
    each === 499 ? row.message.id : `${row.message.id}-s${each}`,
  );
  return place % 12 === 3 ? { ...row, siblings } : row;
}

function sessionOf(place: number, name: string, messages: number): SessionRow {
  return {
    id: `session-${place}`,
    name,
    parent_session_id: null,
    model: "claude-sonnet",
    source: "app",
    input_tokens: place * 1311,
    output_tokens: place * 207,
    estimated_cost: place * 0.0213,
    end_reason: null,
    user_id: place % 3 === 0 ? null : `user-${place % 17}`,
    metadata: {},
    created_at: timeOf(place * 60 + 600),
    updated_at: timeOf(place * 37),
    messages,
    tokens: messages * 71,
  };
}

const info = (store: string, sessions: number, canWrite: boolean): StudioInfo => ({
  store,
  sessions,
  canWrite,
  canSearch: true,
  hasManager: true,
  version: "0.1.0",
});

/** Nothing at all; what a program has after some weeks; and the largest and worst that a program may hold. */
export const WORLDS: Readonly<Record<"empty" | "ordinary" | "monstrous", World>> = {
  empty: {
    info: info("sqlite", 0, false),
    sessionCount: 0,
    session: (place) => sessionOf(place, "", 0),
    pathLength: 0,
    message: ordinaryMessage,
    lanes: 1,
    hasMemory: false,
  },
  ordinary: {
    info: info("sqlite", 46, true),
    sessionCount: 46,
    session: (place) => sessionOf(place, place % 6 === 5 ? "" : (TOPICS[place % 5] ?? ""), place * 7),
    pathLength: 64,
    message: ordinaryMessage,
    lanes: 3,
    hasMemory: true,
  },
  monstrous: {
    info: info("postgres", 100_000, true),
    sessionCount: 100_000,
    session: (place) => ({
      ...sessionOf(
        place,
        [HOSTILE[place % 8], "w".repeat(5_000), "مرحبا بالعالم", "👩‍👩‍👧‍👦".repeat(200)][place % 4] ?? "",
        100_000,
      ),
      id: `${place}${"-id with / ? & # % <b> and \u202E more".repeat(10)}`.slice(0, 300),
      user_id: place % 2 === 0 ? "u".repeat(300) : (HOSTILE[place % 8] ?? ""),
    }),
    pathLength: 100_000,
    message: monstrousMessage,
    lanes: 60,
    hasMemory: true,
  },
};

/** The numbers from `start` up to, but without, `end`. */
export function range(start: number, end: number): number[] {
  return Array.from({ length: Math.max(0, end - start) }, (_, each) => start + each);
}
