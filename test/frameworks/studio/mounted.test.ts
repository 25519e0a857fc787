// The studio's page in the process of its test, in a light DOM and on a studio of a store in memory. How it looks, and what a
// person does with it, is tested in a real browser: page.test.ts and its neighbours.
import { Window } from "happy-dom";
import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest";
import { memory } from "../../../packages/store/src/memory.js";
import { createStudio } from "../../../packages/studio/src/create-studio.js";
import { patience } from "../../helpers/patience.js";
import { BASE } from "../../studio/ask.js";
import { fillSample, sampleManager } from "../../studio/sample.js";

const { origin, pathname } = new URL(BASE);
const store = memory();
const studio = createStudio(sampleManager(store), { basePath: pathname, write: true, authorize: () => true });
const window = new Window({ url: `${BASE}/`, width: 1280, height: 800 });
const VALUES = "document location history navigator localStorage ResizeObserver FormData CSS innerHeight".split(" ");
const FUNCTIONS = ["addEventListener", "requestAnimationFrame", "cancelAnimationFrame"];

beforeAll(async () => {
  await fillSample(store);
  window.document.head.innerHTML = `<meta name="stemma-base" content="${pathname}">`;
  for (const name of VALUES) vi.stubGlobal(name, Reflect.get(window, name));
  for (const name of FUNCTIONS) vi.stubGlobal(name, Reflect.get(window, name).bind(window));
  vi.stubGlobal("fetch", (address: string, init: RequestInit) =>
    studio(new Request(new URL(address, origin), { ...init, headers: { origin, ...init.headers } })),
  );
  await import("../../../packages/studio/src/page/main.js");
});
afterAll(async () => {
  const { render } = await import("preact");
  render(null, root() as never);
  await drawn();
  await window.happyDOM.close();
  vi.unstubAllGlobals();
  await store.close();
});
afterEach(() => {
  expect(shown()).not.toContain("went wrong");
});

const root = () => window.document.querySelector(".app");
const shown = () => root()?.textContent ?? "";
const inTime = <T>(look: () => T) => vi.waitFor(look, patience(20_000));
const shows = (text: string) => inTime(() => expect(shown()).toContain(text));

/** Follows a link to a page of the studio. */
function goTo(address: string): void {
  const link = window.document.createElement("a");
  link.href = pathname + address;
  window.document.body.append(link);
  link.click();
  link.remove();
}

/** What has changed is drawn by then, and nothing is left to do for it. */
const drawn = () => new Promise((resolve) => setTimeout(resolve, 100));

/** The first element that a selector finds. */
function found(selector: string): HTMLElement {
  const element = window.document.querySelector(selector);
  expect(element, `${selector} in: ${shown()}`).not.toBeNull();
  return element as unknown as HTMLElement;
}

function button(within: HTMLElement, text: string): HTMLButtonElement {
  const all = [...within.querySelectorAll("button")];
  const match = all.find(({ textContent }) => textContent === text);
  expect(match, all.map(({ textContent }) => textContent).join()).toBeDefined();
  return match as HTMLButtonElement;
}

/** Chooses from the first menu with this label. */
async function choose(menu: string, text: string): Promise<void> {
  found(`summary[title="${menu}"]`).click();
  button(await inTime(() => found(".menu-items")), text).click();
}

function submit(form: string): void {
  found(form).dispatchEvent(new window.Event("submit", { bubbles: true, cancelable: true }) as never);
}

function press(key: string): void {
  window.document.body.dispatchEvent(new window.KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
}

it("shows the sessions, and one of them with its summary and its tree", async () => {
  await shows("A trip");
  goTo("/session?id=trip");
  await shows("You are welcome, zebra");
  await shows("A trip was booked.");
  await shows("Cancel it");
});

it("shows what a summary covers, with the calls of tools", async () => {
  goTo("/session?id=trip&originals=1");
  await shows("Booked.");
  await shows("Reasoning");
});

it("renames a session", async () => {
  goTo("/session?id=trip");
  await shows("You are welcome, zebra");
  await choose("More of this session", "Rename…");
  const name = await inTime(() => found("dialog input"));
  name.setAttribute("value", "A journey");
  submit("dialog form");
  await shows("A journey");
  expect(await store.sessions.get("trip")).toMatchObject({ name: "A journey" });
});

it("asks before it deletes a message, and keeps it when told so", async () => {
  await choose("More of this message", "Delete this message…");
  const dialog = await inTime(() => found("dialog"));
  button(dialog, "Cancel").click();
  await inTime(() => expect(window.document.querySelector("dialog")).toBeNull());
  expect(await store.session("trip").count()).toBe(5);
});

it("shows what a model was sent", async () => {
  goTo("/context?id=trip");
  await shows("Likes zebras");
});

it("shows the memory of a user, and the versions of an entry", async () => {
  goTo("/memory?user=ada&label=facts&entry=home");
  await shows("Lima");
  await shows("Oslo");
});

it("writes a block of a session, which remembers a message", async () => {
  goTo("/memory?session=trip&message=m1");
  await shows("Likes zebras and crossings.");
  goTo("/memory?session=trip&label=memory");
  await inTime(() => button(found("main"), "Edit").click());
  const text = await inTime(() => found("textarea"));
  Object.assign(text, { value: "Likes okapis." });
  text.dispatchEvent(new window.Event("input", { bubbles: true }) as never);
  await drawn();
  button(found("main"), "Save").click();
  await shows("version 3");
  await shows("Likes okapis.");
});

it("shows the skills that a session has loaded", async () => {
  await store.session("trip").changeSkills({ type: "load", label: "skills", key: "packing" });
  goTo("/usage");
  await shows("120");
  goTo("/memory?session=trip");
  await shows("packing");
});

it("finds messages, and marks the words", async () => {
  goTo("/search?q=zebra");
  await shows("Plan a trip to the zebra crossing");
  expect([...(root()?.querySelectorAll("mark") ?? [])].map(({ textContent }) => textContent)).toContain("zebra");
});

it("shows what was used", async () => {
  goTo("/usage");
  await shows("120");
});

it("says that a page, or a session, is not there", async () => {
  goTo("/nowhere");
  await shows("There is no such page.");
  goTo("/session?id=unknown");
  await shows("unknown");
});

it("lists the keys, and takes them", async () => {
  goTo("/");
  await shows("nobodys");
  press("j");
  expect(window.document.activeElement?.textContent).toContain("A journey");
  press("?");
  await inTime(() => expect(window.document.querySelector("dialog")?.textContent).toContain("Next row"));
});
