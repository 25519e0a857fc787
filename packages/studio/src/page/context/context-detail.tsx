import type { ContextPart, PrefixBreak, RefreshReason } from "@stemma/session";
import type { ContextView } from "../../api.js";
import { Fact, Time } from "../components/fact.js";
import { Empty } from "../components/failure.js";
import { CopyButton } from "../components/icons.js";
import { ScrollRegion } from "../components/scroll-region.js";
import { VirtualList } from "../components/virtual-list.js";
import { DifferenceView } from "../difference/difference-view.js";
import { bytes, count, counted } from "../format.js";
import { linkTo } from "../location.js";

interface Props {
  readonly id: string;
  readonly turn: string | null;
  readonly view: ContextView;
}

/** A request: its size by source, its parts, its prompt, and what broke its prefix. */
export function ContextDetail({ id, turn, view }: Props) {
  const { explanation } = view;
  return (
    <>
      {explanation === null && turn === null && (
        <Empty title="The next request is not known.">
          Open the studio with <code>createStudio(manager)</code>, so that it knows the blocks as your program
          configures them.
        </Empty>
      )}
      {explanation && (
        <>
          <Summary id={id} explanation={explanation} />
          <SourceBar parts={explanation.parts} />
          <PartList id={id} parts={explanation.parts} brokenAt={explanation.brokenAt} />
        </>
      )}
      {view.blocks.length > 0 && <BlockTable id={id} blocks={view.blocks} />}
      <Prompts view={view} />
    </>
  );
}

type Explanation = NonNullable<ContextView["explanation"]>;

function Summary({ id, explanation }: { readonly id: string; readonly explanation: Explanation }) {
  const { brokenAt, messageId, sentAt } = explanation;
  return (
    <section class="panel">
      <h2>{sentAt === null ? "Next request" : "Request"}</h2>
      <dl class="facts">
        <Fact name="Size" value={`${count(explanation.tokens)} tokens, ${bytes(explanation.bytes)}`} />
        {sentAt !== null && <Fact name="Sent" value={<Time at={sentAt} />} />}
        {messageId !== null && (
          <Fact name="Answers" value={<a href={linkTo("/session", { id, at: messageId })}>{messageId}</a>} />
        )}
        <Fact name="Prompt rendered anew" value={refreshReason(explanation.refreshed)} />
        <div>
          <dt>Hash of the prefix</dt>
          <dd>
            <code class="hash">{explanation.prefixHash}</code>
            <CopyButton text={explanation.prefixHash} name="the hash" />
          </dd>
        </div>
      </dl>
      <p class={brokenAt === null ? "verdict good" : "verdict warn"}>
        {brokenAt === null
          ? "It begins with all of the request before, so a provider's cache holds that."
          : `The first ${bytes(brokenAt.offset)} are those of the request before. Then it differs${
              brokenAt.source === null
                ? ""
                : ` in ${SOURCE_NAMES[brokenAt.source]}: ${brokenAt.name || "text outside blocks"}`
            }, because ${BREAK_CAUSES[brokenAt.by]}.`}
      </p>
      {explanation.isOutdated && (
        <p class="notice">
          Messages of this request were edited or removed since. The parts show them as they are now.
        </p>
      )}
    </section>
  );
}

function Prompts({ view }: { readonly view: ContextView }) {
  const { frozenPrompt, currentPrompt } = view;
  if (frozenPrompt === null && currentPrompt === null) return null;
  const isSame = frozenPrompt === currentPrompt;
  return (
    <section class="panel">
      <h2>Prompt</h2>
      <p class="hint">
        {frozenPrompt === null && "No prompt is frozen yet. This is what the first request would freeze."}
        {currentPrompt === null && "This prompt is frozen. How a refresh would make it is known only with a manager."}
        {frozenPrompt !== null &&
          currentPrompt !== null &&
          (isSame ? "A refresh would change nothing." : "What a refresh would change is marked.")}
      </p>
      <DifferenceView
        before={frozenPrompt ?? currentPrompt ?? ""}
        after={currentPrompt ?? frozenPrompt ?? ""}
        names={["Frozen", "After a refresh"]}
      />
    </section>
  );
}

/** The blocks as they are now, with how full they are. */
function BlockTable({ id, blocks }: { readonly id: string; readonly blocks: ContextView["blocks"] }) {
  return (
    <section class="panel">
      <h2>Blocks now</h2>
      <ScrollRegion label="Blocks">
        <table class="wide">
          <thead>
            <tr>
              <th>Block</th>
              <th class="number">Version</th>
              <th class="number">Tokens</th>
              <th class="number">Budget</th>
              <th>Full</th>
            </tr>
          </thead>
          <tbody>
            {blocks.map(({ label, version, tokens, maxTokens }) => (
              <tr key={label}>
                <td>
                  <a href={linkTo("/memory", { session: id, label })}>
                    <bdi>{label}</bdi>
                  </a>
                </td>
                <td class="number">{version ?? "–"}</td>
                <td class="number">{count(tokens)}</td>
                <td class="number">{maxTokens === null ? "none" : count(maxTokens)}</td>
                <td>
                  {maxTokens !== null && (
                    <meter value={tokens} max={maxTokens} high={maxTokens * 0.9} aria-label={`${label} is full to`} />
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollRegion>
    </section>
  );
}

const ROW_HEIGHT = 34;
const MOST_ROWS_IN_VIEW = 14;

interface PartListProps {
  readonly id: string;
  readonly parts: readonly ContextPart[];
  readonly brokenAt: PrefixBreak | null;
}

/** The parts of a request in the order in which they are sent, each with its reason. */
function PartList({ id, parts, brokenAt }: PartListProps) {
  const height = Math.min(parts.length, MOST_ROWS_IN_VIEW) * ROW_HEIGHT;
  const isBreak = (part: ContextPart) => part.source === brokenAt?.source && part.name === brokenAt.name;
  const numbered = parts.map((part, place) => ({ part, key: `${place} ${part.source}` }));
  return (
    <section class="panel">
      <h2>
        Parts <span class="quiet-number">{counted(parts.length, "part")}</span>
      </h2>
      <div class="part-list" style={{ height: `${height}px` }}>
        <VirtualList
          items={numbered}
          rowHeight={ROW_HEIGHT}
          label="Parts of the request"
          keyOf={({ key }) => key}
          row={({ part }) => <Part id={id} part={part} isBreak={isBreak(part)} />}
        />
      </div>
    </section>
  );
}

function Part({ id, part, isBreak }: { readonly id: string; readonly part: ContextPart; readonly isBreak: boolean }) {
  const address = addressOf(id, part);
  const cells = (
    <>
      <span class={`swatch source-${part.source}`} />
      <span class="part-source">{SOURCE_NAMES[part.source]}</span>
      <bdi class="part-name">{part.name || "text outside blocks"}</bdi>
      <span class="part-reason">
        {isBreak && <span class="badge warn">breaks the prefix</span>} {part.reason}
      </span>
      <span class="number">{count(part.tokens)}</span>
    </>
  );
  if (address === null) {
    return (
      <div class="part-row" title={part.reason} tabIndex={-1} data-item>
        {cells}
      </div>
    );
  }
  return (
    <a class="part-row" href={address} title={part.reason} data-item>
      {cells}
    </a>
  );
}

function addressOf(id: string, { source, name }: ContextPart): string | null {
  if (source === "block") return linkTo("/memory", { session: id, label: name });
  if (source === "tool" || source === "prompt") return null;
  return linkTo("/session", { id, at: name });
}

/** The tokens of a request by where they come from. */
function SourceBar({ parts }: { readonly parts: readonly ContextPart[] }) {
  const total = parts.reduce((sum, { tokens }) => sum + tokens, 0);
  let left = 0;
  const shares = SOURCES.flatMap((source) => {
    const own = parts.filter((part) => part.source === source);
    if (own.length === 0) return [];
    const tokens = own.reduce((sum, part) => sum + part.tokens, 0);
    const share = { source, tokens, count: own.length, x: left, width: total === 0 ? 0 : (tokens / total) * 100 };
    left += share.width;
    return [share];
  });
  const text = shares.map(({ source, tokens }) => `${SOURCE_NAMES[source]} ${count(tokens)}`).join(", ");
  return (
    <section class="panel">
      <h2>Tokens by source</h2>
      <svg class="source-bar" viewBox="0 0 100 10" preserveAspectRatio="none" role="img" aria-label={`Tokens: ${text}`}>
        {shares.map(({ source, x, width }) => (
          <rect key={source} class={`source-${source}`} x={x} width={width} height="10" />
        ))}
      </svg>
      <ul class="legend">
        {shares.map(({ source, tokens, count: number, width }) => (
          <li key={source}>
            <span class={`swatch source-${source}`} />
            {SOURCE_NAMES[source]} <span class="quiet-number">×{count(number)}</span>
            <strong class="number">{count(tokens)}</strong>
            <span class="quiet-number">{width.toFixed(width < 10 ? 1 : 0)}%</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

type Source = ContextPart["source"];

/** The sources in the order in which they are sent. */
const SOURCES: readonly Source[] = ["tool", "prompt", "block", "summary", "message", "update", "recall"];

const SOURCE_NAMES: Readonly<Record<Source, string>> = {
  tool: "Tools",
  prompt: "Prompt",
  block: "Blocks",
  summary: "Summaries",
  message: "Messages",
  update: "Changed blocks",
  recall: "Other chats",
};

const REFRESH_REASONS: Readonly<Record<RefreshReason, string>> = {
  first: "It was the first request.",
  compaction: "The conversation was compacted.",
  idle: "The provider's cache had expired.",
  blocks: "The blocks of the session were other ones.",
  size: "More had been told since than the prompt is worth keeping for.",
};

/** Why the prompt was rendered anew. */
function refreshReason(reason: false | RefreshReason): string {
  return reason === false ? "No, it is the frozen one." : `Yes. ${REFRESH_REASONS[reason]}`;
}

export const BREAK_NAMES: Readonly<Record<PrefixBreak["by"], string>> = {
  first: "first request",
  compaction: "compaction",
  idle: "idle",
  blocks: "blocks",
  size: "size",
  prompt: "prompt",
  tools: "tools",
  branch: "branch",
  edit: "edit",
};

/** Why a prefix broke, as the end of a sentence. */
const BREAK_CAUSES: Readonly<Record<PrefixBreak["by"], string>> = {
  first: "it was the first request",
  compaction: "the conversation was compacted",
  idle: "the prompt was refreshed after the cache had expired",
  blocks: "the prompt was refreshed for other blocks",
  size: "the prompt was refreshed because much had changed",
  prompt: "the program or another process rendered the prompt anew",
  tools: "the tools changed",
  branch: "another branch was chosen",
  edit: "a message was changed or removed",
};
