import { estimateStringTokens } from "@stemma/model";
import type { ContextBlock, Session } from "@stemma/session";
import { renderPrompt } from "@stemma/session";
import { promptKey } from "@stemma/store";
import type { ContextView, TurnList } from "../api.js";
import { respondLongJson } from "../http/long-json.js";
import { read, type StudioCall, sessionOf } from "../route.js";

const USUAL_TURNS = 50;
const MOST_TURNS = 200;

export const contextRoutes = [read("turns", turns), read("context", context)];

async function turns(call: StudioCall): Promise<TurnList> {
  const { manager, fields } = call;
  const { id } = await sessionOf(call);
  const limit = fields.limit(USUAL_TURNS, MOST_TURNS);
  return manager.getSession(id).getTurns({ after: fields.optionalText("after"), limit });
}

async function context(call: StudioCall): Promise<Response> {
  const { store, manager, hasManager, fields } = call;
  const { id } = await sessionOf(call);
  const session = manager.getSession(id);
  const turn = fields.optionalText("turn");
  const [explanation, frozen, configured, kept] = await Promise.all([
    turn !== undefined ? session.explainContext(turn) : hasManager ? session.explainContext() : null,
    store.blocks.get(promptKey(id)),
    hasManager ? presentBlocks(session) : null,
    hasManager ? [] : store.blocks.list({ sessionId: id }),
  ]);
  const blocks = configured ?? kept.map((block) => ({ ...block, tokens: estimateStringTokens(block.content) }));
  const view: ContextView = {
    explanation,
    blocks: blocks.map(blockRow),
    frozenPrompt: frozen?.content ?? null,
    currentPrompt: configured === null ? null : renderPrompt(configured),
  };
  return respondLongJson(view);
}

// The blocks as they are now, but for those whose provider fails.
async function presentBlocks(session: Session): Promise<ContextBlock[]> {
  await session.tools();
  const labels = session.getContextBlocks().map(({ label }) => label);
  const blocks = await Promise.all(labels.map((label) => session.readContextBlock(label).catch(() => null)));
  return blocks.filter((block) => block !== null);
}

type BlockRow = ContextView["blocks"][number];

function blockRow({
  label,
  tokens,
  maxTokens,
  version,
}: Pick<ContextBlock, "label" | "tokens"> & Partial<ContextBlock>): BlockRow {
  return { label, tokens, maxTokens: maxTokens ?? null, version: version ?? null };
}
