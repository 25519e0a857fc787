import { useMemo } from "preact/hooks";
import { useShortened } from "../components/long-text.js";
import { ScrollRegion } from "../components/scroll-region.js";
import { type Block, type Inline, parseMarkdown } from "./parse-markdown.js";

/** A text in Markdown, drawn without ever being HTML. Images elsewhere are links. */
export function Markdown({ text }: { readonly text: string }) {
  const shown = useShortened(text);
  const blocks = useMemo(() => parseMarkdown(shown.text), [shown.text]);
  return (
    <div class="markdown" dir="auto">
      {blocks.map(drawBlock)}
      {shown.button}
    </div>
  );
}

function drawBlock(block: Block, key: number) {
  switch (block.kind) {
    case "paragraph":
      return (
        <p key={key} dir="auto">
          {block.children.map(drawInline)}
        </p>
      );
    case "heading":
      // A message's headings are no part of the page's outline.
      return (
        <p key={key} class={`heading heading-${block.level}`} dir="auto">
          {block.children.map(drawInline)}
        </p>
      );
    case "code":
      return (
        <ScrollRegion key={key} label={`Code ${block.language}`} class="code-block">
          <pre>
            <code>{block.text}</code>
          </pre>
        </ScrollRegion>
      );
    case "quote":
      return <blockquote key={key}>{block.children.map(drawBlock)}</blockquote>;
    case "list":
      return drawList(block, key);
    case "table":
      return drawTable(block, key);
    default:
      return <hr key={key} />;
  }
}

function drawList(block: Extract<Block, { kind: "list" }>, key: number) {
  const items = block.items.map((item, position) => {
    const [only] = item;
    const isLine = item.length === 1 && only?.kind === "paragraph";
    // biome-ignore lint/suspicious/noArrayIndexKey: the items of a text have nothing else to be told apart by.
    return <li key={position}>{isLine ? only.children.map(drawInline) : item.map(drawBlock)}</li>;
  });
  if (block.start === null) return <ul key={key}>{items}</ul>;
  return (
    <ol key={key} start={block.start}>
      {items}
    </ol>
  );
}

function drawTable(block: Extract<Block, { kind: "table" }>, key: number) {
  return (
    <ScrollRegion key={key} label="Table">
      <table>
        <thead>
          <tr>
            {block.head.map((cell, column) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a column is its place.
              <th key={column}>{cell.map(drawInline)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {block.rows.map((row, line) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a row is its place.
            <tr key={line}>
              {row.map((cell, column) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: a cell is its place.
                <td key={column}>{cell.map(drawInline)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  );
}

function drawInline(part: Inline, key: number) {
  switch (part.kind) {
    case "text":
      return part.text;
    case "break":
      return <br key={key} />;
    case "code":
      return <code key={key}>{part.text}</code>;
    case "strong":
      return <strong key={key}>{part.children.map(drawInline)}</strong>;
    case "emphasis":
      return <em key={key}>{part.children.map(drawInline)}</em>;
    case "deleted":
      return <del key={key}>{part.children.map(drawInline)}</del>;
    default:
      return (
        <a key={key} href={part.address} target="_blank" rel="noopener noreferrer" title={part.address}>
          {part.isImage && "Image: "}
          {part.children.map(drawInline)}
        </a>
      );
  }
}
