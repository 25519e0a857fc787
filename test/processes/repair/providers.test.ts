// The table of the providers' rules, from both sides: what breaks a rule is found, and passes once it is repaired; the nearest
// that obeys is left as it is.
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { PROVIDERS } from "../../../packages/chat/src/ai-sdk/lint/known-providers.js";
import type { ProviderRules } from "../../../packages/chat/src/ai-sdk/lint/provider-rules.js";
import type { SessionMessage, SessionMessagePart } from "../../../packages/model/src/messages/message.js";
import { type LintRule, lint, repair } from "../../../packages/stemma/src/ai-sdk.js";

interface Sides {
  readonly rule: LintRule;
  readonly obeys: SessionMessage[];
  readonly breaks: SessionMessage[];
}

const said = (text: string) => ({ type: "text", text });
const user = (id: string, ...parts: object[]): SessionMessage => ({ id, role: "user", parts: parts as never });
const answer = (id: string, ...parts: object[]): SessionMessage => ({ id, role: "assistant", parts: parts as never });
const file = (mediaType: string, length: number, filename?: string) => {
  const url = `data:${mediaType};base64,${"A".repeat(length)}`;
  return { type: "file", mediaType, url, ...(filename === undefined ? {} : { filename }) };
};
const files = (count: number, mediaType: string, length = 4) =>
  Array.from({ length: count }, (_, index) => file(mediaType, length, `file ${index}`));

/** A whole exchange around an answer's parts. */
const around = (...parts: object[]) => [
  user("1", said("Hi")),
  answer("2", ...parts, { type: "step-start" }, said("So.")),
  user("3", said("And?")),
];
const asking = (...parts: object[]) => [user("1", ...parts, said("Look"))];
const call = (more: object) => ({
  type: "tool-add",
  toolCallId: "abcdefghi",
  state: "output-available",
  input: {},
  output: 3,
  ...more,
});

const idOf = ({ callIds }: ProviderRules, length: number) =>
  callIds.pattern.test("a".repeat(length)) ? "a".repeat(length) : null;
const longest = (fits: (length: number) => boolean) =>
  Array.from({ length: 200 }, (_, index) => index + 1).findLast(fits) ?? 0;

/** Every rule of a provider with a limit that can be stepped over. */
function sidesOf(rules: ProviderRules): Record<string, Sides> {
  const { limits, toolNames, files: types } = rules;
  const idLength = longest((length) => idOf(rules, length) !== null);
  const nameLength = longest((length) => toolNames.test("a".repeat(length)));
  const image = ["image/png", "image/jpeg"].find((type) => types.test(type));
  const document = ["application/pdf", "text/plain"].find((type) => types.test(type));
  const anyFile = image ?? document;
  const some = Math.min(10, limits.images);
  const sides: Record<string, Sides | false> = {
    "half a pair": { rule: "malformed-text", obeys: asking(said("🍐")), breaks: asking(said("🍐".slice(0, 1))) },
    NUL: {
      rule: "malformed-text",
      obeys: around(call({ output: ["\u0001"] })),
      breaks: around(call({ output: ["\0"] })),
    },
    "a blank text": { rule: "blank-text", obeys: asking(said(" .")), breaks: asking(said(" \n")) },
    "the length of an id": {
      rule: "call-id",
      obeys: around(call({ toolCallId: "a".repeat(idLength) })),
      breaks: around(call({ toolCallId: "a".repeat(idLength + 1) })),
    },
    "the letters of an id": {
      rule: "call-id",
      obeys: around(call({ toolCallId: "abc1def2g" })),
      breaks: around(call({ toolCallId: "abc.def2g" })),
    },
    "the length of a name": {
      rule: "tool-name",
      obeys: around(call({ type: `tool-${"a".repeat(nameLength)}` })),
      breaks: around(call({ type: `tool-${"a".repeat(nameLength + 1)}` })),
    },
    "the letters of a name": {
      rule: "tool-name",
      obeys: around(call({ type: "tool-a_b-c" })),
      breaks: around(call({ type: "tool-a b" })),
    },
    "an input that is a list": {
      rule: "call-input",
      obeys: around(call({ input: { list: [] } })),
      breaks: around(call({ input: [] })),
    },
    "two calls of one id": {
      rule: "duplicate-call-id",
      obeys: around(call({}), call({ toolCallId: "abcdefghj" })),
      breaks: around(call({}), call({})),
    },
    "the length of a text": Number.isFinite(limits.text) && {
      rule: "long-text",
      obeys: asking(said("x".repeat(limits.text))),
      breaks: asking(said("x".repeat(limits.text + 1))),
    },
    "the size of a result": {
      rule: "long-output",
      obeys: around(call({ output: "a".repeat(4 * limits.output) })),
      breaks: around(call({ output: "a".repeat(4 * limits.output + 1) })),
    },
    "the size of an error": {
      rule: "long-output",
      obeys: around(call({ state: "output-error", errorText: "a".repeat(4 * limits.output) })),
      breaks: around(call({ state: "output-error", errorText: "a".repeat(4 * limits.output + 1) })),
    },
    "the size of a result in an object": {
      rule: "long-output",
      obeys: around(call({ output: { list: ["a".repeat(4 * limits.output - 40)] } })),
      breaks: around(call({ output: { list: ['"'.repeat(4 * limits.output)] } })),
    },
    "an empty result": !rules.takesEmptyOutput && {
      rule: "empty-output",
      obeys: around(call({ output: "." })),
      breaks: around(call({ output: "" })),
    },
    "the type of a file": !types.test("application/zip") &&
      anyFile !== undefined && {
        rule: "unreadable-file",
        obeys: asking(file(anyFile, 4)),
        breaks: asking(file("application/zip", 4)),
      },
    "any file": anyFile === undefined && {
      rule: "unreadable-file",
      obeys: asking(),
      breaks: asking(file("image/png", 4)),
    },
    "the number of images": Number.isFinite(limits.images) &&
      image !== undefined && {
        rule: "too-many-files",
        obeys: asking(...files(limits.images, image)),
        breaks: asking(...files(limits.images + 1, image)),
      },
    "the number of documents": Number.isFinite(limits.documents) &&
      document !== undefined && {
        rule: "too-many-files",
        obeys: asking(...files(limits.documents, document)),
        breaks: asking(...files(limits.documents + 1, document)),
      },
    "the size of an image": Number.isFinite(limits.imageSize) &&
      image !== undefined && {
        rule: "large-file",
        obeys: asking(file(image, limits.imageSize)),
        breaks: asking(file(image, limits.imageSize + 4)),
      },
    "the size of a document": Number.isFinite(limits.documentSize) &&
      document !== undefined && {
        rule: "large-file",
        obeys: asking(file(document, limits.documentSize)),
        breaks: asking(file(document, limits.documentSize + 4)),
      },
    "the size of all files": Number.isFinite(limits.filesSize) &&
      anyFile !== undefined && {
        rule: "too-many-files",
        obeys: asking(...files(some, anyFile, limits.filesSize / some)),
        breaks: asking(...files(some, anyFile, limits.filesSize / some + 4)),
      },
    "the name of a file": rules.fileNames !== null &&
      document !== undefined && {
        rule: "file-name",
        obeys: asking(file(document, 4, "a (1).pdf"), file(document, 4, "a (2).pdf")),
        breaks: asking(file(document, 4, "a_1.pdf"), file(document, 4, "a-1.pdf")),
      },
    "a file without a text": rules.textBesideFiles &&
      document !== undefined && {
        rule: "file-without-text",
        obeys: [user("1", said("Look"), file(document, 4, "a"))],
        breaks: [user("1", file(document, 4, "a"))],
      },
    "a system message after others": rules.systemFirst && {
      rule: "late-system-message",
      obeys: [{ id: "0", role: "system", parts: [said("Be brief")] }, user("1", said("Hi"))],
      breaks: [user("1", said("Hi")), answer("2", said("So.")), { id: "0", role: "system", parts: [said("Be brief")] }],
    },
    "the first message": rules.userFirstAndLast && {
      rule: "first-message",
      obeys: around(),
      breaks: [answer("0", said("Hi"))].concat(user("1", said("Hi"))),
    },
    "the last message": rules.userFirstAndLast && {
      rule: "last-message",
      obeys: around(),
      breaks: around().slice(0, -1),
    },
    "two answers in a row": rules.alternating.includes("assistant") && {
      rule: "consecutive-messages",
      obeys: around(),
      breaks: [user("1", said("Hi")), answer("2", said("So.")), answer("3", said("Or.")), user("4", said("And?"))],
    },
    "two messages of the user in a row": rules.alternating.includes("user") && {
      rule: "consecutive-messages",
      obeys: around(),
      breaks: [user("1", said("Hi")), user("2", said("And?"))],
    },
    "a result without an answer": rules.answersResults && {
      rule: "unanswered-result",
      obeys: around(call({})),
      breaks: [user("1", said("Hi")), answer("2", call({})), user("3", said("And?"))],
    },
    "an item's id": rules.itemId({ type: "text", providerMetadata: metadata("msg_1") } as never) !== null && {
      rule: "item-id",
      obeys: around({ ...said("A"), providerMetadata: metadata(`msg_${"x".repeat(60)}`) }),
      breaks: around({ ...said("A"), providerMetadata: metadata(`msg_${"x".repeat(61)}`) }),
    },
  };
  return Object.fromEntries(Object.entries(sides).filter(([, each]) => each !== false)) as Record<string, Sides>;
}

function metadata(itemId: string) {
  return { openai: { itemId }, azure: { itemId } };
}

describe.each(Object.entries(PROVIDERS) as [string, ProviderRules][])("%s", (name, rules) => {
  it.each(Object.entries(sidesOf(rules)))("%s", (_, { rule, obeys, breaks }) => {
    expect(lint(obeys, name)).toEqual([]);
    expect(repair(obeys, name)).toBe(obeys);
    const found = lint(breaks, name);
    expect(new Set(found.map((finding) => finding.rule))).toEqual(new Set([rule]));
    const repaired = repair(breaks, name);
    expect(lint(repaired, name)).toEqual([]);
    expect(repair(breaks, name)).toEqual(repaired);
    expect(repair(repaired, name)).toBe(repaired);
  });

  it("has the row in the docs that the table says", () => {
    expect(readFileSync("docs/background/repairs.md", "utf8")).toContain(rowOf(rules));
  });
});

describe("files that are too many", () => {
  const image = file("image/png", 4);
  const shown = (messages: SessionMessage[]) =>
    repair(messages, "mistral").map(({ parts }) => parts.map(({ type }: SessionMessagePart) => type[0]).join(""));

  it("go a few at a time, the oldest first, so that the prefix stays the same for a while", () => {
    const history = (count: number) =>
      Array.from({ length: count }, (_, index) => [
        user(`u${index}`, image),
        answer(`a${index}`, said("Nice.")),
      ]).flat();
    const left = Array.from({ length: 14 }, (_, index) => {
      const seen = shown([...history(index), user("last", image)]);
      return seen.filter((types) => types === "f").length;
    });
    expect(left).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 6, 7, 8, 6, 7, 8]);
  });
});

function rowOf({ name, callIds, toolNames, limits }: ProviderRules): string {
  const ids = [...Array(65).keys()].filter((length) => callIds.pattern.test("a".repeat(length)));
  const names = longest((length) => toolNames.test("a".repeat(length)));
  const figure = (value: number) => (Number.isFinite(value) ? value.toLocaleString("en") : "");
  const cells = [
    name,
    ids.length === 1 ? `exactly ${ids[0]}` : `${ids.at(-1)}`,
    `${names}`,
    ...[limits.text, limits.output, limits.images, limits.documents].map(figure),
    ...[limits.imageSize, limits.documentSize, limits.filesSize].map(figure),
  ];
  return `| ${cells.join(" | ")} |`.replaceAll("|  |", "| |").replaceAll("|  |", "| |");
}
