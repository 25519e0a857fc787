import { Text } from "@mariozechner/pi-tui/dist/components/text.js";
import type { Terminal } from "@mariozechner/pi-tui/dist/terminal.js";
import { type Component, visibleWidth } from "@mariozechner/pi-tui/dist/tui.js";
import { expect, it, onTestFinished } from "vitest";
import { createRunWithin } from "../../../../../runner/src/tools/bounded.js";
import { Answer } from "../../../../src/chat/terminal/answer.js";
import { PromptEditor } from "../../../../src/chat/terminal/prompt-editor.js";
import { editorTheme, FittingTui, WorkingLine } from "../../../../src/chat/terminal/screen.js";
import { styleFor } from "../../../../src/text.js";

const WIDTHS = [60, 5, 4, 3, 2, 1];
const TEXTS = {
  "wide characters": "你好世界 こんにちは 안녕하세요",
  emoji: "👩‍👩‍👧 🇩🇪 👍🏽 ☺️ 🏴󠁧󠁢󠁥󠁮󠁧󠁿",
  "combining marks": "é̂̃ ẹ́ ก็ำ ລຳ नमस्ते ﷽",
  "marks with a column of their own": "ｶﾞﾞﾞ ｱﾟ\u0301ﾟﾟﾟﾟﾟ",
  "long words": "w".repeat(40),
  tabs: "\ta\tb",
  Markdown: `# 标题标题\n\n| ${"长".repeat(9)} | b |\n|---|---|\n| 1 | ${"x".repeat(50)} |\n\n> 引用\n\n1. - 👩‍👩‍👧${"y".repeat(30)}\n\n\`\`\`\n代码 code\n\`\`\`\n\n---\n\n[长](https://example.com/长)`,
};

/** Of so many columns, and 20 rows. */
function terminalOf(size: { columns: number }): Terminal {
  const nothing = () => {};
  return new Proxy({ rows: 20, kittyProtocolActive: false } as Terminal, {
    get: (own, name) => (name === "columns" ? size.columns : (Reflect.get(own, name) ?? nothing)),
  });
}

/** Everything that the chat shows, with what is typed in the prompt. */
async function chat(text: string) {
  const style = { ...styleFor(false), bold: (bold: string) => `\u001b[1m${bold}\u001b[22m` };
  const size = { columns: 60 };
  const tui = new FittingTui(terminalOf(size));
  const prompt = new PromptEditor(tui, editorTheme(style));
  const working = new WorkingLine(tui, style, text);
  const answer = new Answer(style, await createRunWithin());
  answer.add(text);
  const shown: Component[] = [new Text(style.bold(text), 0, 0), answer, working, prompt, new Text(text, 0, 0)];
  for (const each of shown) tui.addChild(each);
  tui.setFocus(prompt);
  tui.start();
  onTestFinished(() => {
    working.stop();
    tui.stop();
  });
  // What is asked for is drawn in a later turn, where a failure would end the process.
  const draw = () => (Reflect.get(tui, "doRender") as () => void).call(tui);
  return { size, tui, prompt, draw };
}

it.each(Object.entries(TEXTS))("shows %s on every width, and what is typed there", async (_name, text) => {
  const { size, tui, prompt, draw } = await chat(text);
  for (const columns of WIDTHS) {
    size.columns = columns;
    draw();
    for (const typed of ["/", text, "\u001b[A", "\u001b[D", "x"]) {
      prompt.handleInput(typed);
      draw();
      expect(Math.max(...tui.render(columns).map(visibleWidth))).toBeLessThanOrEqual(columns);
    }
    prompt.setText("");
    draw();
    // Keys that come at once are not drawn between them.
    for (const typed of [text, "\u001b[A", "\u001b[B"]) prompt.handleInput(typed);
    prompt.setText("");
  }
});

it("changes no line that fits", async () => {
  const { tui } = await chat("e\u0301 你 a");
  const lines = tui.render(60);
  expect(lines).toContain(`\u001b[1me\u0301 你 a\u001b[22m${" ".repeat(54)}`);
  expect(tui.render(60)).toEqual(lines);
  expect(tui.render(4)).not.toEqual(lines);
});
