// A chat on a screen: React in a light DOM, against a real server.
import { Window } from "happy-dom";
import type { ReactNode } from "react";
import { type ChatTree, type ChatTreeOptions, useChatTree } from "stemma/react";
import { afterAll, vi } from "vitest";

const window = new Window({ url: "http://localhost/" });
// The requests stay those of Node: a DOM's own know nothing of its streams.
const { document, navigator } = window;
for (const [name, value] of Object.entries({ window, document, navigator, IS_REACT_ACT_ENVIRONMENT: true })) {
  vi.stubGlobal(name, value);
}
// Other files of the process run in no browser.
afterAll(() => {
  vi.unstubAllGlobals();
});

const { act, createElement, StrictMode } = await import("react");
const { createRoot } = await import("react-dom/client");

export interface Screen {
  /** What the hook gave at the last rendering. */
  readonly chat: ChatTree;
  /** A line for each message: its role, text, and ‹ 1/2 › where it has siblings. */
  lines(): string[];
  /** Does something, and waits until `done` is so on the screen. */
  until(done: (chat: ChatTree) => boolean, work?: () => unknown): Promise<void>;
  rerender(options: ChatTreeOptions): Promise<void>;
  close(): Promise<void>;
}

function line({ role, parts }: ChatTree["messages"][number]): string {
  return `${role}: ${parts.map((part) => (part.type === "text" ? part.text : "")).join("")}`;
}

export async function open(options: ChatTreeOptions): Promise<Screen> {
  let chat: ChatTree | undefined;
  function Chat(given: ChatTreeOptions): ReactNode {
    const tree = useChatTree(given);
    chat = tree;
    const rows = tree.messages.map((message) => {
      const { index, count } = tree.siblings(message.id);
      const place = count === 1 ? "" : ` ‹ ${index + 1}/${count} ›`;
      return createElement("li", { key: message.id }, line(message) + place);
    });
    return createElement("ul", null, rows);
  }
  const place = window.document.createElement("div");
  window.document.body.appendChild(place);
  const root = createRoot(place as never);
  const render = (given: ChatTreeOptions) =>
    act(async () => root.render(createElement(StrictMode, null, createElement(Chat, given))));
  await render(options);
  const screen: Screen = {
    get chat() {
      return chat as ChatTree;
    },
    lines: () => [...place.querySelectorAll("li")].map((row) => row.textContent ?? ""),
    until: async (done, work) => {
      let failure: unknown = null;
      await act(async () => {
        Promise.resolve(work?.()).catch((error: unknown) => {
          failure = error;
        });
      });
      const end = Date.now() + 20_000;
      while (!done(chat as ChatTree)) {
        if (failure !== null) throw failure;
        if (Date.now() > end) throw new Error(`Waited in vain: ${screen.lines().join(" | ")}`);
        await act(() => new Promise((resolve) => setTimeout(resolve, 10)));
      }
    },
    rerender: render,
    close: () => act(async () => root.unmount()),
  };
  return screen;
}
