import type { StoredCompaction, TreeNode } from "@stemma/store";
import { count, oneLine, shortIds } from "./text.js";

interface TreeDrawing {
  messages: readonly TreeNode[];
  compactions: readonly StoredCompaction[];
  activeLeafId: string | null;
  /** Lines under each message for its calls of tools, as `toolLines` makes them. Default: not shown. */
  tools?: ReadonlyMap<string, readonly string[]>;
  width: number;
}

/**
 * A tree of messages as lines of text. A chain runs straight down; only where several messages follow one do they become
 * branches and move in. A summary stands above the first message that it covers, and what tools did below the message that calls them.
 */
export function* drawTree({ messages, compactions, activeLeafId, tools, width }: TreeDrawing): Generator<string> {
  const children = new Map<string | null, TreeNode[]>();
  for (const node of messages) {
    const siblings = children.get(node.parentId);
    if (siblings === undefined) children.set(node.parentId, [node]);
    else siblings.push(node);
  }
  const short = shortIds(messages.map(({ id }) => id));
  const summaries = summariesByStart(messages, compactions);
  const roots = children.get(null) ?? [];
  // A stack of its own: a conversation can be deeper than the call stack.
  const open = entriesOf(roots, "", width);
  for (let entry = open.pop(); entry !== undefined; entry = open.pop()) {
    const { node, mark, indent } = entry;
    for (const { id, summary, covered } of summaries.get(node.id) ?? []) {
      const text = `∑ ${id.slice(0, 8)}  ${count(covered, "message")} summarised: `;
      yield fitted(indent.bar + text, summary, width);
    }
    const active = node.id === activeLeafId ? "  ← active" : "";
    const calls = [...(tools?.get(node.id) ?? [])];
    const preview = node.preview.trim() === "" ? (calls.shift() ?? "(no text)") : node.preview;
    const head = `${mark}${oneLine(node.role).padEnd(9)} ${oneLine(short.get(node.id) ?? node.id)}  `;
    yield fitted(head, preview, width - active.length) + active;
    for (const call of calls) yield fitted(indent.below + " ".repeat(head.length - mark.length), call, width);
    for (const below of entriesOf(children.get(node.id) ?? [], indent.below, width)) open.push(below);
  }
}

interface Entry {
  node: TreeNode;
  mark: string;
  indent: {
    /** Before a line above the message. */
    bar: string;
    /** Before what follows it. */
    below: string;
  };
}

const STEP = 3;

// The first is on top of the stack. A branch that would move in over half of the width loses its outermost line.
function entriesOf(nodes: readonly TreeNode[], whole: string, width: number): Entry[] {
  const isBranching = nodes.length > 1;
  const indent = isBranching && whole.length + STEP > width / 2 ? whole.slice(STEP) : whole;
  return nodes
    .map((node, index): Entry => {
      if (!isBranching) return { node, mark: indent, indent: { bar: indent, below: indent } };
      const isLast = index === nodes.length - 1;
      return {
        node,
        mark: `${indent}${isLast ? "└─ " : "├─ "}`,
        indent: { bar: `${indent}│  `, below: `${indent}${isLast ? "   " : "│  "}` },
      };
    })
    .reverse();
}

function summariesByStart(
  messages: readonly TreeNode[],
  compactions: readonly StoredCompaction[],
): Map<string, { id: string; summary: string; covered: number }[]> {
  const depths = new Map<string, number>();
  for (const { id, parentId } of messages) depths.set(id, parentId === null ? 0 : (depths.get(parentId) ?? -1) + 1);
  const depthOf = (id: string) => depths.get(id) ?? 0;
  const summaries = new Map<string, { id: string; summary: string; covered: number }[]>();
  for (const { id, summary, fromMessageId, toMessageId } of compactions) {
    const started = summaries.get(fromMessageId) ?? [];
    started.push({ id, summary, covered: depthOf(toMessageId) - depthOf(fromMessageId) + 1 });
    summaries.set(fromMessageId, started);
  }
  return summaries;
}

/** Characters of a text that are shown however far its message is moved in. */
const MIN_TEXT = 9;

/** As much of `text` behind `head` as the width allows, and always a little. */
function fitted(head: string, text: string, width: number): string {
  return head + oneLine(text, Math.max(MIN_TEXT, width - head.length - 1));
}
