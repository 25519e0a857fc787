import { assertBudget, assertStorableText, keyOfContent, keyOfTitle } from "@stemma/model";
import { type NamedScope, objectSchema, scopeToWrite } from "@stemma/session";
import { placeOf, titleOf } from "../documents.js";
import { answerSchema, textField } from "../fields.js";
import { entryScope, labelToRemember, MEMORY } from "../scope.js";
import { defineTool } from "../tool.js";

/** Estimated tokens of one text: what is longer is a document, not a memory. */
const MAX_TOKENS = 4_000;

const FIELDS = {
  text: {
    type: "string",
    minLength: 1,
    maxLength: 1_000_000,
    description: "What to remember: one fact, decision or preference, complete in itself.",
  },
  title: {
    type: "string",
    maxLength: 1_000,
    description: "A short name, as 'Deploy checklist'. Default: made from the text.",
  },
  scope: { type: "string", description: "The name of the scope to keep it in. Default: the memory itself." },
} as const;

/** The tool of a server with these scopes. Without one that may be written it takes no scope. */
export const createRememberTool = (scopes: readonly NamedScope[]) =>
  defineTool({
    name: "remember",
    title: "Remember",
    description:
      "Keeps a text for later conversations; search finds it. With the title of something remembered before, the new text takes its place; earlier versions are kept.",
    input: objectSchema(fieldsFor(scopes), ["text"]),
    output: answerSchema({ id: textField, title: textField, url: textField, replaced: { type: "boolean" } }),
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true },
    run: async (scope, { text, title = "", scope: asked }) => {
      const name = asked === undefined ? undefined : scopeToWrite(scopes, MEMORY, asked).name;
      const label = labelToRemember(scope, name);
      assertStorableText(text, "The text");
      assertStorableText(title, "The title");
      const { entries } = scope.store;
      const place = entryScope(scope, label, name);
      // A program may have chosen a key that no title gives.
      const named = title.trim() === "" ? null : await entries.get(place, title);
      const key = named?.key ?? (title.trim() === "" ? keyOfContent(text) : keyOfTitle(title));
      assertBudget(titleOf(key), text, MAX_TOKENS);
      const before = named ?? (await entries.get(place, key));
      await entries.set(place, { key, content: text }, { origin: { author: "model" }, holds: true });
      const { id, url } = placeOf({ kind: "entry", label, key, scope: name });
      return { id, title: titleOf(key), url, replaced: before !== null };
    },
  });

function fieldsFor(scopes: readonly NamedScope[]): typeof FIELDS {
  const { scope: _, ...others } = FIELDS;
  return (scopes.some(({ writable }) => writable) ? FIELDS : others) as typeof FIELDS;
}
