import type { MemoryOwner, MemoryView } from "../../api.js";
import { ownerQuery } from "../api-client.js";
import { count } from "../format.js";
import { linkTo } from "../location.js";

interface Props {
  readonly owner: MemoryOwner;
  readonly memory: MemoryView;
  /** The label that is shown in full. */
  readonly shown: string | null;
}

/** The labels of an owner's blocks and entries. */
export function MemoryList({ owner, memory, shown }: Props) {
  const row = (label: string, aside: string) => (
    <li key={label}>
      <a
        class="memory-row"
        href={linkTo("/memory", { ...ownerQuery(owner), label })}
        aria-current={label === shown ? "true" : undefined}
        data-item
      >
        <bdi>{label}</bdi>
        <span class="quiet-number">{aside}</span>
      </a>
    </li>
  );
  return (
    <div data-items>
      {memory.blocks.length > 0 && (
        <>
          <h2>Blocks</h2>
          <ul>{memory.blocks.map(({ label, tokens, version }) => row(label, `${count(tokens)} tok · v${version}`))}</ul>
        </>
      )}
      {memory.collections.length > 0 && (
        <>
          <h2>Entries</h2>
          <ul>{memory.collections.map(({ label, count: number }) => row(label, entriesOf(number)))}</ul>
        </>
      )}
    </div>
  );
}

function entriesOf(number: number): string {
  return number === 1 ? "1 entry" : `${count(number)} entries`;
}
