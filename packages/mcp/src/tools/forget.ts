import { invalid } from "@stemma/model";
import { objectSchema, scopeToWrite } from "@stemma/session";
import { readEntry } from "../documents.js";
import { answerSchema, idField, parseId, textField } from "../fields.js";
import { entryScope } from "../scope.js";
import { defineTool } from "../tool.js";

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
