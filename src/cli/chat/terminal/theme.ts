import type { EditorTheme } from "@mariozechner/pi-tui/dist/components/editor.js";
import type { MarkdownTheme } from "@mariozechner/pi-tui/dist/components/markdown.js";
import type { Style } from "../../style.js";

export function markdownTheme(style: Style): MarkdownTheme {
  const { bold, dim, italic, underline, strike, accent } = style;
  return {
    heading: (text) => bold(text),
    link: underline,
    linkUrl: dim,
    code: accent,
    codeBlock: (text) => text,
    codeBlockBorder: dim,
    // What is copied from the screen is what the model wrote.
    codeBlockIndent: "",
    quote: italic,
    quoteBorder: dim,
    hr: dim,
    listBullet: accent,
    bold,
    italic,
    strikethrough: strike,
    underline,
  };
}

export function editorTheme({ accent, dim }: Style): EditorTheme {
  const selectList = {
    selectedPrefix: accent,
    selectedText: accent,
    description: dim,
    scrollInfo: dim,
    noMatch: dim,
  };
  return { borderColor: dim, selectList };
}
