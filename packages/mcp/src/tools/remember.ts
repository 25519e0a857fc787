import { assertBudget, assertStorableText, invalid, keyOfContent, keyOfTitle } from "@stemma/model";
import { type NamedScope, objectSchema, scopeToWrite } from "@stemma/session";
import { placeOf, readEntry, titleOf } from "../documents.js";
import { answerSchema, idField, parseId, textField } from "../fields.js";
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

export const forgetTool = defineTool({
  name: "forget",
  title: "Forget",
  description:
    "Removes something that was remembered. Messages and blocks cannot be removed by it. The person can restore it.",
  input: objectSchema({ id: { ...idField, description: "The id of an entry: entry/…" } }, ["id"]),
  output: answerSchema({ id: textField, forgotten: { type: "boolean", const: true } }),
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false },
  run: async (scope, { id }) => {
    const ref = parseId(id);
    if (ref.kind !== "entry") {
      throw invalid("Only what remember keeps can be forgotten: an id that begins with entry/.");
    }
    if (ref.scope !== undefined) scopeToWrite(scope.scopes, ref.label, ref.scope);
    const entry = await readEntry(scope, ref);
    await scope.store.entries.delete(entryScope(scope, ref.label, ref.scope), ref.key, { origin: { author: "model" } });
    return { id: entry.id, forgotten: true as const };
  },
});
