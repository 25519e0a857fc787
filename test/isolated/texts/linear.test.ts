import { describe, it } from "vitest";
import { parsePath } from "../../../packages/adapters/src/claude/memory/paths.js";
import { escapeName, readName } from "../../../packages/adapters/src/langgraph/saver/keys.js";
import { searchableText as searchablePaths } from "../../../packages/adapters/src/langgraph/store/stemma-store.js";
import { ruleFor } from "../../../packages/cli/src/chat/offline/responder.js";
import { nameIn, offlineSummary } from "../../../packages/cli/src/chat/offline/summary.js";
import { isBearer } from "../../../packages/cli/src/http/listen.js";
import { withMember } from "../../../packages/cli/src/mcp/install/clients.js";
import { lineDifference, withTable } from "../../../packages/cli/src/mcp/install/toml-edit.js";
import { hidePasswords } from "../../../packages/cli/src/open-database.js";
import { createTokenGate } from "../../../packages/cli/src/studio/serve-studio.js";
import { oneLine, wrapped } from "../../../packages/cli/src/text.js";
import { escapeHtml } from "../../../packages/formats/src/export/export-formats.js";
import { nameFromText } from "../../../packages/formats/src/identity.js";
import { partsOfText } from "../../../packages/formats/src/programs/open-webui.js";
import { parseId, positionOf } from "../../../packages/mcp/src/fields.js";
import { shrinkJson, truncateText } from "../../../packages/model/src/compaction/shrink.js";
import { buildSummaryPrompt } from "../../../packages/model/src/compaction/summary.js";
import { quote } from "../../../packages/model/src/errors.js";
import { readJsonObject } from "../../../packages/model/src/lib/bodies.js";
import { keyOfContent, keyOfTitle } from "../../../packages/model/src/messages/entry-key.js";
import { takeMedia } from "../../../packages/model/src/messages/media.js";
import { metadataOfFolder } from "../../../packages/model/src/messages/session-metadata.js";
import { sendable, utf8Length } from "../../../packages/model/src/messages/storable-text.js";
import { cut } from "../../../packages/model/src/messages/text.js";
import { estimateStringTokens } from "../../../packages/model/src/messages/tokens.js";
import { parseQuery } from "../../../packages/model/src/search/query.js";
import {
  escapeHeads,
  quoteField,
  quoteWord,
  unescapeHeads,
} from "../../../packages/model/src/search/quoted-results.js";
import { excerpt, markedSnippet } from "../../../packages/model/src/search/snippet.js";
import { documentTerms, queryTerms, stem } from "../../../packages/model/src/search/terms.js";
import { originalRanges } from "../../../packages/model/src/search/words.js";
import { parseInput } from "../../../packages/runner/src/messages/sdk-message.js";
import { BoundedOutput, boundedLines } from "../../../packages/runner/src/tools/bounded.js";
import { globPattern } from "../../../packages/runner/src/tools/glob-and-grep.js";
import { assertLabel } from "../../../packages/session/src/context/label.js";
import { parsePrompt, renderPrompt, splitPrompt } from "../../../packages/session/src/context/prompt.js";
import { readFrontMatter } from "../../../packages/session/src/context/providers/front-matter.js";
import { skillListing } from "../../../packages/session/src/context/providers/r2-skills.js";
import { editedEntry, editedText } from "../../../packages/session/src/learning/edited-text.js";
import { parseEdits, titleIn } from "../../../packages/session/src/learning/learn.js";
import { parseNote } from "../../../packages/session/src/session/turn/notes.js";
import { readInput } from "../../../packages/session/src/tools/tool.js";
import { lint } from "../../../packages/stemma/src/ai-sdk.js";
import { readSessions } from "../../../packages/stemma/src/formats.js";
import { truncateOlderMessages } from "../../../packages/stemma/src/utils.js";
import { redactEncoded } from "../../../packages/store/src/redact/inner-texts.js";
import { redactRecord } from "../../../packages/store/src/redact/redact-records.js";
import { compareTexts } from "../../../packages/studio/src/page/difference/difference-view.js";
import { parseMarkdown } from "../../../packages/studio/src/page/markdown/parse-markdown.js";
import { mediaOf, withStubs } from "../../../packages/studio/src/path-page.js";
import { EXAMPLES } from "../../formats/example-files.js";
import { expectLinear } from "../../helpers/linear.js";
import { textMessage } from "../../helpers/messages.js";
import { HOSTILE_TEXTS } from "../../texts/hostile-texts.js";

/** So many characters, and four times as many. Larger texts tell more, and take their time. */
const SIZE = process.env.STEMMA_SOAK ? 20_000 : 7_500;
const query = parseQuery('heron "reed bed" 株式会社 w1 a');
const edit = (content: string) => ({ action: "add", label: "memory", content, messageIds: [] }) as const;
const block = { label: "memory", content: "", cap: 1e9, holdsEntries: false, document: null };
const schema = {
  type: "object",
  properties: {
    a: { type: "array", items: { type: "string" } },
    b: { type: "object", properties: {}, additionalProperties: false },
  },
  additionalProperties: false,
} as const;
const file = (fields: object) => ({
  type: "file",
  mediaType: "image/png",
  url: "data:image/png;base64,AA==",
  ...fields,
});
const message = (...parts: object[]) => ({ id: "m", role: "user", parts: parts as { type: string }[] });

/** What is called with texts of users, models, files and clients. */
const CALLS: Readonly<Record<string, (text: string) => unknown>> = {
  "a search query": (text) => queryTerms(parseQuery(text)),
  "the terms of a text": documentTerms,
  "the places in a text": (text) => originalRanges(text)({ start: 0, end: text.length }),
  "a stem": stem,
  "a snippet": (text) => markedSnippet(text, query),
  "a snippet of its own words": (text) => markedSnippet(text, parseQuery(text)),
  "an excerpt": (text) => excerpt(text, query, 4000),
  "an estimate of tokens": estimateStringTokens,
  "the length in UTF-8": utf8Length,
  "a piece": (text) => cut(text, 1, text.length - 1),
  "the heads in results": (text) => unescapeHeads(escapeHeads(text)),
  "a field of a head": (text) => quoteField(text) + quoteWord(text),
  "a text for a request": (text) => sendable({ [text]: text }),
  "media in a message": (text) => takeMedia(message(file({ url: text })), new Map()),
  "media in an output": (text) =>
    takeMedia(message({ type: "tool-x", output: { type: "image", data: text } }), new Map()),
  "a folder": metadataOfFolder,
  "a block of a prompt": (text) => {
    const prompt = renderPrompt([
      { label: text, description: text, content: text, tokens: 1, maxTokens: 2, writable: true } as never,
    ]);
    return [parsePrompt(prompt), splitPrompt(prompt), parsePrompt(text)];
  },
  "a label": refusing(assertLabel),
  "a note": parseNote,
  "a skill": (text) => readFrontMatter(`---\n${text}\n---\n${text}`),
  "a field of a skill": (text) => readFrontMatter(`---\nname: ${text}\ndescription: x\n---\n${text}`),
  "a list of skills": (text) => skillListing([{ key: text, description: text } as never]),
  "the key of a title": keyOfTitle,
  "the key of a content": keyOfContent,
  "the input of a tool": (text) => readInput(schema, { a: text, b: text }),
  "an object for a tool": (text) => readInput(schema, text),
  "a value in an error": quote,
  "a prompt for a summary": (text) => buildSummaryPrompt([textMessage("a", text)], text),
  "a cut text": (text) => truncateText(text, 4000),
  "a cut value": (text) => shrinkJson({ [text]: [text, text.split(" ")] }, 4000),
  "a cut history": (text) =>
    truncateOlderMessages([textMessage("a", text), ...Array.from({ length: 5 }, () => textMessage("a"))]),
  "what was learned": refusing((text) => editedText(block, text, edit(text))),
  "an entry that was learned": refusing((text) => editedEntry(text, edit(text))),
  "an answer with edits": refusing((text) => parseEdits(text, [])),
  "an answer with edits at its end": refusing((text) => parseEdits(`${text}]`, [])),
  "a title": titleIn,
  Markdown: parseMarkdown,
  "Markdown in a list": (text) => parseMarkdown(`- ${text.replaceAll("\n", "\n  ")}`),
  "a table": (text) => parseMarkdown(`a|b\n-|-\n${text}|${text}`),
  "a difference": (text) => compareTexts(text, text.slice(1).toUpperCase()),
  "media of a page": (text) => withStubs(message(file({ mediaType: text }), file({ url: text }))),
  "the address of media": refusing((text) => mediaOf(message(file({})), text)),
  "a data URL to redact": (text) => redactEncoded(`data:${text},${text}`, (one) => one),
  "a data URL's head to redact": (text) => redactEncoded(`data:text/plain;a=${text}`, (one) => one),
  "data URLs in a text to redact": (text) =>
    redactEncoded(`see data:a/b;base64,${text} data:${text}/${text};a=${text};base64,`, (one) => one),
  "base64 to redact": (text) => redactEncoded(`data:text/plain;base64,${text}`, (one) => one),
  "a record to redact": (text) =>
    redactRecord({ sessionId: "s", label: "x" } as never, "k", new TextEncoder().encode(text), (one) => one),
  "an element of Open WebUI": partsOfText,
  "reasoning of Open WebUI": (text) => partsOfText(`<details type="reasoning" done="true">${text}</details>`),
  "a call of Open WebUI": (text) => partsOfText(`<details type="tool_calls" ${text}></details>`),
  "a name": nameFromText,
  "a text as HTML": escapeHtml,
  "a file": (text) => read(text, "openai"),
  "a list in a file": (text) => read(`[${text}`, "openai"),
  "a line in a file": (text) => read(`{"role":"user","content":"a"}\n${text}`),
  "a setting in TOML": (text) => withTable(text, "mcp_servers", "stemma", { command: "a", args: ["b"] }),
  "a value in TOML": (text) => withTable(`a = ${text}`, "mcp_servers", "stemma", { command: "a", args: ["b"] }),
  "a setting in JSON": (text) => withMember(text, "mcpServers", "stemma", { command: "a" }),
  "a value in JSON": (text) =>
    withMember(`{ "a": ${JSON.stringify(text)}, "mcpServers": { ${text}`, "mcpServers", "stemma", {}),
  "the difference of lines": (text) => lineDifference(text, text.toUpperCase()),
  "an error of Postgres": (text) => hidePasswords(text),
  "a line for a terminal": (text) => oneLine(text),
  "lines for a terminal": (text) => wrapped(text, 80),
  "a question": ruleFor,
  "a name in a question": (text) => nameIn(`my name is ${text}`),
  "the prompt of a summary": offlineSummary,
  "a header with a token": (text) => isBearer(`Bearer ${text}`, "secret"),
  "a cookie": (text) => createTokenGate("n", undefined).authorize({ headers: { get: () => text } } as never),
  "a body": refusing((text) =>
    readJsonObject(new Request("http://a.example", { method: "POST", body: text }), { maxBytes: 1e9, advice: "" }),
  ),
  "a path of a memory": refusing(parsePath),
  "an id": refusing(parseId),
  "a cursor": refusing((text) => positionOf({} as never, text)),
  "a name of LangGraph": (text) => readName(escapeName(text)),
  "a path of LangGraph": (text) => searchablePaths({ a: text }, [text]),
  "an output that is bounded": (text) => {
    const output = new BoundedOutput();
    for (let at = 0; at < text.length; at += 100) output.append(text.slice(at, at + 100));
    return output.toString() + boundedLines(text.split("\n"), 200);
  },
  // It is matched in a thread that ends after two seconds.
  "a file pattern": refusing(globPattern),
  "an input of the runner": refusing((text) => parseInput(text)),
  "a request": (text) =>
    ["anthropic", "openai", "google", "bedrock", "mistral", "xai"].map((provider) =>
      lint(
        [
          message({ type: "text", text }, file({ filename: text }), file({ mediaType: text }), file({ url: text })),
          {
            ...message({ type: `tool-${text}`, toolCallId: text, state: "output-available", input: {}, output: text }),
            role: "assistant",
          },
        ],
        provider,
      ),
    ),
};

describe.for(Object.entries(CALLS))("%s", ([, call]) => {
  it("takes time that grows as the text does", { timeout: 120_000 }, async () => {
    const failed: string[] = [];
    for (const [name, textOf] of Object.entries(HOSTILE_TEXTS)) {
      await new Promise(setImmediate);
      await expectLinear(SIZE, (length) => call(textOf(length)), name).catch((error: Error) =>
        failed.push(error.message),
      );
    }
    if (failed.length > 0) throw new Error(failed.join("\n"));
  });
});

describe.for(Object.entries(EXAMPLES))("a file of the format %s", ([, { values }]) => {
  it("is read in time that grows as its texts do", { timeout: 120_000 }, async () => {
    const failed: string[] = [];
    for (const [name, textOf] of Object.entries(HOSTILE_TEXTS)) {
      await expectLinear(
        SIZE,
        (length) => {
          const text = textOf(length);
          return read(values.map((value) => JSON.stringify(filled(value, text))).join("\n"));
        },
        name,
      ).catch((error: Error) => failed.push(error.message));
    }
    if (failed.length > 0) throw new Error(failed.join("\n"));
  });
});

/** A value in which what people and models said says something else. */
function filled(value: unknown, text: string): unknown {
  if (typeof value === "string") return value.includes(" ") || value === "mild" ? text : value;
  if (Array.isArray(value)) return value.map((item) => filled(item, text));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, filled(item, text)]));
}

async function read(text: string, format?: string): Promise<void> {
  async function* bytes() {
    yield new TextEncoder().encode(text);
  }
  try {
    for await (const session of readSessions(bytes(), { format })) void session;
  } catch (error) {
    if (!(error instanceof Error) || error.name !== "StemmaError") throw error;
  }
}

/** A call that may refuse the text. */
function refusing(call: (text: string) => unknown): (text: string) => unknown {
  return async (text) => {
    try {
      await call(text);
    } catch (error) {
      if (!(error instanceof Error) || error.name !== "StemmaError") throw error;
    }
  };
}
