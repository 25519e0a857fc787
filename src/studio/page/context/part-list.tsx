import type { ContextPart, PrefixBreak } from "../../../session.js";
import { VirtualList } from "../components/virtual-list.js";
import { count, counted } from "../format.js";
import { linkTo } from "../location.js";
import { SOURCE_NAMES } from "./words.js";

const ROW_HEIGHT = 34;
const MOST_ROWS_IN_VIEW = 14;

interface Props {
  readonly id: string;
  readonly parts: readonly ContextPart[];
  readonly brokenAt: PrefixBreak | null;
}

/** The parts of a request in the order in which they are sent, each with its reason. */
export function PartList({ id, parts, brokenAt }: Props) {
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
