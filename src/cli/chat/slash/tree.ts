import type { TreeNode } from "../../../storage/contract.js";
import { beginning } from "../../../tools/snippet.js";
import type { SlashCommand } from "./slash-command.js";

const MAX_PREVIEW = 70;

export const tree: SlashCommand = {
  name: "tree",
  usage: "",
  help: "all messages with their branches and numbers; * marks where you are",
  async run({ conversation, terminal }) {
    const { session } = conversation.session;
    const nodes = await session.getTree();
    if (nodes.length === 0) return terminal.line("No messages yet.");
    const leaf = await session.getLatestLeaf();
    for (const line of drawTree(nodes, leaf?.id ?? null)) terminal.line(line);
  },
};

/** A line per message. A conversation without branches stays flat; each branch is set in by one step. */
export function drawTree(nodes: readonly TreeNode[], leafId: string | null): string[] {
  const children = new Map<string | null, TreeNode[]>();
  for (const node of nodes) {
    const siblings = children.get(node.parentId);
    if (siblings === undefined) children.set(node.parentId, [node]);
    else siblings.push(node);
  }
  const numbers = new Map(nodes.map((node, index) => [node.id, index + 1]));
  const lines: string[] = [];
  // A stack, as a conversation is deeper than calls can be.
  const stack = (children.get(null) ?? []).map((node, index, roots) => ({
    node,
    depth: roots.length > 1 && index > 0 ? 1 : 0,
  }));
  stack.reverse();
  for (let entry = stack.pop(); entry !== undefined; entry = stack.pop()) {
    const { node, depth } = entry;
    const mark = node.id === leafId ? "*" : " ";
    const preview = beginning(node.preview.replace(/\s+/gu, " ").trim(), MAX_PREVIEW) || "(tools)";
    lines.push(`${mark}${"  ".repeat(depth)}${numbers.get(node.id)} ${node.role}: ${preview}`);
    const below = children.get(node.id) ?? [];
    const step = below.length > 1 ? 1 : 0;
    for (const child of below.toReversed()) stack.push({ node: child, depth: depth + step });
  }
  return lines;
}
