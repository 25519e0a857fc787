import { estimateStringTokens, isJsonObject, yieldIfDue } from "@stemma/model";
import type { ContextBlock, Session } from "@stemma/session";
import { renderPrompt } from "@stemma/session";
import { promptKey } from "@stemma/store";
import type { ContextView, TurnList } from "../api.js";
import { respond } from "../http/failure.js";
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

/** Characters that are sent at once. */
const CHUNK = 65_536;

/** An answer of JSON that may be long: it is written while it is read, and the event loop turns meanwhile. */
function respondLongJson(value: object): Response {
  const pieces = piecesOf(value);
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      let text = "";
      for (let piece = pieces.next(); !piece.done; piece = pieces.next()) {
        text += piece.value;
        if (text.length < CHUNK) continue;
        controller.enqueue(encoder.encode(text));
        await yieldIfDue();
        return;
      }
      controller.enqueue(encoder.encode(text));
      controller.close();
    },
  });
  return respond(body, { headers: { "content-type": "application/json; charset=utf-8" } });
}

/** The JSON of a value, item by item where it is a list or has some. */
function* piecesOf(value: unknown): Generator<string> {
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) yield `${index === 0 ? "[" : ","}${JSON.stringify(item)}`;
    yield value.length === 0 ? "[]" : "]";
  } else if (isJsonObject(value)) {
    const fields = Object.entries(value).filter(([, field]) => field !== undefined);
    for (const [index, [name, field]] of fields.entries()) {
      yield `${index === 0 ? "{" : ","}${JSON.stringify(name)}:`;
      yield* piecesOf(field);
    }
    yield fields.length === 0 ? "{}" : "}";
  } else yield JSON.stringify(value);
}
