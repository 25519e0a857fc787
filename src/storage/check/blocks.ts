import { first } from "../engine/operation.js";
import { isoNow } from "../operations/clock.js";
import { makeRow } from "../operations/register.js";
import { isText, isTime, isWhole } from "./findings.js";
import { needsSession, rowCheck } from "./row-check.js";

const isKind = (kind: unknown) => kind === "block" || kind === "prompt";

/** Blocks and frozen prompts. */
export const BLOCKS = rowCheck({
  table: "cf_agents_context_blocks",
  rule: "block",
  key: ["session_id", "kind", "label"],
  columns: ["content", "version", "updated_at"],
  idOf: ({ label }) => label,
  rulesFor: (row) => [
    [!needsSession(row), "Its session is not in the registry."],
    [isKind(row.kind), "It is neither a block nor a prompt."],
    // A provider that a program made by hand without a label writes under none.
    [isText(row.label) && (row.kind !== "prompt" || row.label === ""), "Its name is none."],
    [isText(row.content), "Its content is no text."],
    [isWhole(row.version, 1), "Its version is no number from 1."],
    [isTime(row.updated_at), "When it was written is no time."],
  ],
  *mend(sql, row, write) {
    const set = (column: string, value: string | number) =>
      write(`UPDATE cf_agents_context_blocks SET ${column} = ?`, value);
    if (needsSession(row) && isText(row.session_id)) yield* makeRow(sql, row.session_id);
    if (!isWhole(row.version, 1)) yield* set("version", 1);
    if (!isTime(row.updated_at)) yield* set("updated_at", isoNow());
    if (isKind(row.kind) || !isText(row.label)) return;
    const kind = row.label === "" ? "prompt" : "block";
    const taken = "SELECT 1 FROM cf_agents_context_blocks WHERE session_id = ? AND kind = ? AND label = ?";
    if ((yield* first(taken, row.session_id, kind, row.label)) === undefined) yield* set("kind", kind);
  },
});
