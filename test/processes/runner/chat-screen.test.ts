// One screen: the chat in a pseudo-terminal, which each test starts and reads.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { COMMANDS } from "../../../packages/cli/src/chat/slash/registry.js";
import { SessionManager } from "../../../packages/stemma/src/session.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { Screen, type ScreenOptions } from "../../helpers/screen.js";
import { bundle } from "../../runner/bundle.js";
import { talkingServer } from "../../runner/talking-server.js";

/** Of all that the commands say of themselves. */
const KNOWN_WORDS = COMMANDS.flatMap(({ name, usage, help }) => `${name} ${usage} ${help}`.match(/\p{L}+/gu) ?? []);
const CTRL_C = "\u0003";
const CTRL_D = "\u0004";
const CTRL_Z = "\u001a";
const ENTER = "\r";
const ALT_ENTER = "\u001b\r";
const UP = "\u001b[A";
const TAB = "\t";

let program: string;
let home: string;
let server: Awaited<ReturnType<typeof talkingServer>>;
const screens: Screen[] = [];

beforeAll(async () => {
  program = join(await bundle("chat-screen", ["test/runner/chat-main.ts"]), "chat-main.mjs");
});
beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), "stemma-screen-"));
  server = await talkingServer();
});
afterEach(async () => {
  for (const screen of screens.splice(0)) await screen.kill();
  server.close();
  rmSync(home, { recursive: true, force: true });
});

function environment() {
  const unset = { STEMMA_MODEL: "", STEMMA_MODEL_BASE_URL: "", STEMMA_SKILLS: "", STEMMA_DB: "", STEMMA_HISTORY: "" };
  return { ...unset, NO_COLOR: "", HOME: home, STEMMA_USER: "ada", NODE_NO_WARNINGS: "1" };
}

/** A chat with the model of `server`, unless `options` say otherwise, whose prompt is there. */
async function chat(options: readonly string[] = [], size: ScreenOptions = {}): Promise<Screen> {
  const model = options.includes("--offline") ? [] : ["--model", "m", "--base-url", server.url];
  const rest = options.filter((option) => option !== "--offline");
  const command = [process.execPath, program, "chat", ...model, ...rest];
  const screen = new Screen(command, { cwd: home, env: environment(), ...size });
  screens.push(screen);
  await screen.shows(/^─+$/mu);
  return screen;
}

/** A shell with job control, whose prompt is `shell: `. */
async function shell(): Promise<Screen> {
  const screen = new Screen(["bash", "--norc", "-i"], { cwd: home, env: environment() });
  screens.push(screen);
  screen.type(`PS1='shell'': '${ENTER}`);
  await screen.shows(/shell:$/u);
  return screen;
}

/** Asks, and answers. */
async function turn(screen: Screen, question: string, answer: string): Promise<void> {
  screen.type(question + ENTER);
  (await server.next()).end(answer);
  await screen.shows(answer);
  await idle(screen);
}

const idle = (screen: Screen) => screen.showsNot("Ctrl-C stops");

/** What stands in the prompt: between the last two rules. */
function prompt(screen: Screen): string {
  const lines = screen.lines();
  const rules = lines.flatMap((line, index) => (/^─+$/u.test(line) ? [index] : []));
  return lines.slice((rules.at(-2) ?? 0) + 1, rules.at(-1)).join("\n");
}

async function untilPrompt(screen: Screen, text: string): Promise<void> {
  for (let attempt = 0; attempt < 200 && prompt(screen) !== text; attempt += 1)
    await new Promise((resolve) => setTimeout(resolve, 20));
  expect(prompt(screen)).toBe(text);
}

async function stored(): Promise<{ role: string; text: string }[]> {
  const store = sqlite(join(home, ".stemma", "sessions.db"));
  const [info] = await SessionManager.create(store).list();
  const messages = (await store.session(info?.id ?? "").path()).messages;
  await store.close();
  return messages.map(({ role, parts }) => ({ role, text: parts.map(({ text }) => text ?? "").join("") }));
}

describe.skipIf(spawnSync("python3", ["-c", "import pty"]).status !== 0)(
  "the chat in a terminal (needs python3)",
  () => {
    it("takes a pasted text of several lines as one message, its commands and tabs as text", async () => {
      const screen = await chat();
      const pasted = "def soup():\n\treturn 1\n/quit\n    end";
      screen.paste(pasted);
      await screen.shows("/quit");
      expect(server.waiting()).toBe(0);
      screen.type(ENTER);
      (await server.next()).end("Thanks.");
      await screen.shows("Thanks.");
      expect(await stored()).toEqual([
        { role: "user", text: pasted },
        { role: "assistant", text: "Thanks." },
      ]);
      const long = Array.from({ length: 50 }, (_, line) => `line ${line}`).join("\n");
      screen.paste(long);
      await screen.shows("[paste #1 +50 lines]");
      screen.type(ENTER);
      (await server.next()).end("Long.");
      await screen.shows("Long.");
      expect((await stored())[2]?.text).toBe(long);
    });

    it("takes a pasted command for a text when it has more lines", async () => {
      const screen = await chat();
      screen.paste("/quit\nis what I typed");
      screen.type(ENTER);
      (await server.next()).end("You did.");
      await screen.shows("You did.");
      expect((await stored())[0]?.text).toBe("/quit\nis what I typed");
      screen.paste("/branch This\nhas two lines");
      screen.type(ENTER);
      (await server.next()).end("It has.");
      await screen.shows("It has.");
      expect((await stored())[0]?.text).toBe("This\nhas two lines");
    });

    it("fits lists of conversations, messages and hits into 40 columns, and draws none of them as Markdown", async () => {
      const screen = await chat([], { columns: 40, rows: 40 });
      screen.type(`* How do I brew the best green tea that there is?${ENTER}`);
      (await server.next()).end("Steep the tea at **80 °C**.");
      await screen.shows("Steep the tea at 80 °C.");
      await idle(screen);
      screen.type(`/sessions${ENTER}`);
      await screen.shows(/^\* {2}sess_\S+ {2}\S+ \S+ {2}.*…$/mu);
      expect(screen.lines().filter((line) => line.startsWith("* "))).toHaveLength(1);
      screen.type(`/tree${ENTER}`);
      await screen.shows(/^assistant \S{8} {2}.*← active$/mu);
      screen.type(`/search tea${ENTER}`);
      await screen.shows(/── user · \S+ \S+ · session\s+sess_\S{3,6} · message \S{8}\n\* How do I/u);
      expect(screen.lines().join("\n")).toMatch(/80 °C\*\*\.\n\n── |there is\?\n\n── /u);
    });

    it("names the database in the home folder shortly, and indents no code that it did not get so", async () => {
      const screen = await chat();
      await screen.shows("stemma · a new conversation · ~/.stemma/sessions.db");
      screen.type(`Code?${ENTER}`);
      (await server.next()).end("```ts\nif (tea)\n  drink();\n```\nThat is it.");
      expect(await screen.shows("That is it.")).toContain("\nif (tea)\n  drink();\n");
    });

    it("leaves what is typed while the model speaks where it is, and sends it after", async () => {
      const screen = await chat();
      screen.type(`first${ENTER}`);
      const first = await server.next();
      screen.type("sec");
      first.say("One, ");
      await screen.shows("One,");
      screen.type("ond");
      first.say("two, ");
      await screen.shows("two,");
      expect(prompt(screen)).toBe("second");
      screen.type(`${ENTER}/usage${ENTER}half`);
      await screen.shows("… second");
      await screen.shows("… /usage");
      first.say("three.");
      await screen.shows("three.");
      expect(server.waiting()).toBe(0);
      first.end();
      const second = await server.next();
      expect(second.request.messages.at(-1)?.content).toBe("second");
      expect(prompt(screen)).toBe("half");
      second.end("Four.");
      await screen.shows(/tokens in/u);
      expect(screen.text()).toMatch(/> first\n\nOne, two, three\.\n\n> second\n\nFour\.\n\n> \/usage/u);
      expect(prompt(screen)).toBe("half");
    });

    it("stops the answer at Ctrl-C, not the chat, and ends at the second one at an empty prompt", async () => {
      const screen = await chat();
      screen.type(`a story${ENTER}`);
      const story = await server.next();
      story.say("Once upon a time");
      screen.type("kept");
      await screen.shows("Once upon a time");
      screen.type(CTRL_C);
      await screen.shows("(aborted; what was finished is kept)");
      await idle(screen);
      await untilPrompt(screen, "kept");
      screen.type(CTRL_C);
      await untilPrompt(screen, "");
      await turn(screen, "still there?", "Yes.");
      screen.type(CTRL_C);
      await screen.shows("(Ctrl-C again to quit)");
      screen.type("x");
      await screen.showsNot("again to quit");
      screen.type(`${CTRL_C}${CTRL_C}`);
      await screen.shows("(Ctrl-C again to quit)");
      screen.type(CTRL_C);
      expect(await screen.ended).toBe(130);
      expect(screen.raw).toContain("\u001b[?2004l");
      expect(screen.raw.lastIndexOf("\u001b[?25h")).toBeGreaterThan(screen.raw.lastIndexOf("\u001b[?25l"));
    });

    it("has what was typed in earlier chats, and keeps it private", async () => {
      const before = await chat(["--offline"]);
      before.type(`remember that I\u001b\rlike tea${ENTER}`);
      await before.shows("Noted");
      before.type(`/usage${ENTER}`);
      await before.shows("tokens in");
      before.type(CTRL_D);
      expect(await before.ended).toBe(0);
      const screen = await chat(["--offline"]);
      screen.type(UP);
      await untilPrompt(screen, "/usage");
      screen.type(UP);
      await untilPrompt(screen, "remember that I\nlike tea");
      const file = join(home, ".stemma", "prompt-history.jsonl");
      expect(readFileSync(file, "utf8")).toBe('"remember that I\\nlike tea"\n"/usage"\n');
      expect(statSync(file).mode & 0o777).toBe(0o600);
    });

    it("completes commands with Tab", async () => {
      const screen = await chat();
      screen.type("/");
      await screen.shows("all messages with their branches");
      screen.type("us");
      await screen.showsNot("all messages with their branches");
      screen.type(TAB);
      await untilPrompt(screen, "/usage");
      screen.type(ENTER);
      await screen.shows("tokens in");
      // Faster than the list is drawn.
      screen.type(`/comp${TAB}`);
      await untilPrompt(screen, "/compact");
      screen.type(CTRL_C);
      await untilPrompt(screen, "");
      screen.type(`/context${ENTER}`);
      await screen.shows("MEMORY");
    });

    it("begins a new line with Alt-Enter and after a backslash", async () => {
      const screen = await chat();
      screen.type(`one${ALT_ENTER}two\\${ENTER}three`);
      await untilPrompt(screen, "one\ntwo\nthree");
      screen.type(ENTER);
      (await server.next()).end("Three lines.");
      await screen.shows("Three lines.");
      expect((await stored())[0]?.text).toBe("one\ntwo\nthree");
    });

    it("tells the seconds, and the name of the tool that runs", async () => {
      const screen = await chat();
      screen.type(`find it${ENTER}`);
      const talk = await server.next();
      await screen.shows(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] 0 s · thinking/u);
      await screen.shows(/ 1 s · thinking/u);
      talk.call("session_search", { query: "soup" });
      talk.end();
      await screen.shows("· session_search");
      const answer = await server.next();
      answer.say("No soup");
      await screen.shows(/\d s · answering/u);
      answer.end(".");
      await idle(screen);
      expect(screen.text()).not.toMatch(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/u);
    });

    const MARKDOWN = [
      "## Carrot soup\n\nPeel **two carrots** and boil them ",
      "with `salt` for as long as it takes until every last one of them is perfectly soft.\n\n",
      "1. Boil the water\n2. Wait a while, and do not ever forget to stir the soup now and then\n\n",
      "| Step | Minutes |\n|---|---|\n| boil | 20 |\n\n```js\nboil(carrots);\n```\n",
    ];
    const WORDS = MARKDOWN.join("").match(/[A-Za-z]{3,}/gu) as string[];

    it.each([40, 80, 120])("draws Markdown while it comes, words whole, at %i columns", async (columns) => {
      const screen = await chat([], { columns, rows: 50 });
      screen.type(`soup?${ENTER}`);
      const talk = await server.next();
      talk.say(MARKDOWN[0] as string);
      await screen.shows("carrots");
      expect(screen.text()).not.toContain("**");
      expect(screen.look("Carrot soup")).toMatchObject({ bold: true });
      expect(screen.look("two")).toMatchObject({ bold: true });
      for (const piece of MARKDOWN.slice(1)) talk.say(piece);
      talk.end();
      await screen.shows("boil(carrots);");
      await idle(screen);
      const shown = screen.text();
      expect(shown).toContain("│ boil │ 20      │");
      for (const word of WORDS) expect(shown).toMatch(new RegExp(`\\b${word}\\b`, "u"));
      expect(screen.lines().every((line) => line.length <= columns)).toBe(true);
    });

    it("draws the screen anew when the window changes, and erases nothing above it", async () => {
      const shell = `seq -f 'before %g' 1 30; exec "$@"`;
      const model = ["--model", "m", "--base-url", server.url];
      const command = ["sh", "-c", shell, "sh", process.execPath, program, "chat", ...model];
      const screen = new Screen(command, { columns: 120, rows: 20, cwd: home, env: environment() });
      screens.push(screen);
      await screen.shows(/^─{120}$/mu);
      for (let index = 0; index < 4; index += 1) await turn(screen, `question ${index}`, `answer ${index}`);
      screen.type(`more${ENTER}`);
      (await server.next()).end(`It has ${"many different words ".repeat(20)}until the end.`);
      await screen.shows("until the end.");
      await idle(screen);
      for (const [columns, rows] of [
        [40, 20],
        [80, 30],
        [60, 12],
      ] as const) {
        screen.resize(columns, rows);
        await screen.shows(new RegExp(`words[^─]*until the end\\.\\n─{${columns}}\\n\\n─{${columns}}$`, "u"));
        const lines = screen.lines();
        const answer = lines.slice(0, -3).filter((line) => line.includes("words"));
        for (const line of answer) expect(line).toMatch(/^(It|has|many|different|words|until|the|end\.| )+$/u);
      }
      await turn(screen, "and now?", "Fine.");
      for (let index = 1; index <= 30; index += 1) expect(screen.allLines()).toContain(`before ${index}`);
      for (let index = 0; index < 4; index += 1) expect(screen.allLines()).toContain(`answer ${index}`);
    });

    it("loses no line of a table that is longer than the screen", async () => {
      const screen = await chat([], { columns: 80, rows: 12 });
      screen.type(`table${ENTER}`);
      const talk = await server.next();
      talk.say("| n | word |\n|---|---|\n");
      for (let row = 0; row < 40; row += 1) {
        talk.say(`| ${row} | ${"x".repeat(row)} |\n`);
        if (row % 8 === 0) await screen.shows(`│ ${row} `);
      }
      talk.end("\nThat was the table.");
      await screen.shows("That was the table.");
      await idle(screen);
      const all = screen.allText();
      for (let row = 0; row < 40; row += 1)
        expect(all.match(new RegExp(`^│ ${row} +│ x{${row}} `, "gmu"))).toHaveLength(1);
      expect(all.match(/> table/gu)).toHaveLength(1);
    });

    it("can be stopped with Ctrl-Z, and goes on where it was", async () => {
      const alone = await chat(["--offline"]);
      alone.type(`kept${CTRL_Z}`);
      await untilPrompt(alone, "kept");
      alone.type(" on");
      await untilPrompt(alone, "kept on");
      const screen = await shell();
      screen.type(`${process.execPath} ${program} chat${ENTER}`);
      await screen.shows(/^─+$/mu);
      screen.type("half a mess");
      await untilPrompt(screen, "half a mess");
      screen.type(CTRL_Z);
      await screen.shows("Stopped");
      screen.type(`fg${ENTER}`);
      await screen.shows("half a mess");
      screen.type("age");
      await untilPrompt(screen, "half a message");
      screen.type(`${CTRL_C}${CTRL_D}`);
      await screen.shows(/shell:$/u);
    });

    it("gives the terminal back when it is ended from outside", async () => {
      const screen = await shell();
      screen.type(`${process.execPath} ${program} chat & P=$!; (sleep 2; kill -TERM $P) & fg %1${ENTER}`);
      await screen.shows(/^─+$/mu);
      await screen.shows(/shell:$/u);
      screen.type(`echo $((20 + 3))${ENTER}`);
      await screen.shows("\n23\n");
      expect(screen.raw.lastIndexOf("\u001b[?25h")).toBeGreaterThan(screen.raw.lastIndexOf("\u001b[?25l"));
    });

    it("shows the last messages of a chat that goes on", async () => {
      const before = await chat();
      for (let index = 0; index < 4; index += 1) await turn(before, `question ${index}`, `answer ${index}`);
      before.type(`/quit${ENTER}`);
      expect(await before.ended).toBe(0);
      const screen = await chat();
      await screen.shows("answer 3");
      const shown = screen.text();
      expect(shown).toMatch(/> question 1\n\nanswer 1\n\n> question 2\n\nanswer 2\n\n> question 3\n\nanswer 3\n/u);
      expect(shown).toContain("… what came before: `stemma show`");
      expect(shown).not.toContain("> question 0");
    });

    it("holds on a screen of a few columns, with wide characters and words longer than it", async () => {
      const screen = await chat([], { columns: 12, rows: 20 });
      screen.type(`你好世界你好世界 👩‍👩‍👧 ${"w".repeat(40)}${ENTER}`);
      const talk = await server.next();
      talk.say(
        `# 标题标题标题标题标题\n\n| ${"长".repeat(20)} | b |\n|---|---|\n| 1 | ${"x".repeat(50)} |\n\n- 👩‍👩‍👧${"y".repeat(30)}\n`,
      );
      talk.call("session_search", { query: "z".repeat(60) });
      talk.end();
      (await server.next()).end("Done.");
      await screen.shows("Done.");
      const drawn = () => new Promise((resolve) => setTimeout(resolve, 200));
      for (const columns of [5, 4, 3, 2, 1, 60]) {
        screen.resize(columns, 20);
        for (const typed of ["/", `${CTRL_C}你`, `${UP}ｶﾞﾞ👩‍👩‍👧`, CTRL_C]) {
          // The library checks the lines of all drawings but the first of a size.
          await drawn();
          screen.type(typed);
        }
      }
      await screen.shows(/^─{60}$/mu);
      await turn(screen, "fine?", "Fine.");
    });

    it("cuts no word of the list of commands", async () => {
      for (const columns of [40, 80, 120]) {
        const screen = await chat([], { columns });
        screen.type("/");
        await screen.shows("(1/14)");
        const list = screen.lines().filter((line) => /^(→| ) \//u.test(line));
        expect(list).toHaveLength(5);
        for (const line of list) for (const word of line.match(/\p{L}+/gu) ?? []) expect(KNOWN_WORDS).toContain(word);
      }
    });

    it("prints nothing that could steer the terminal", async () => {
      const screen = await chat();
      screen.type(`hello${ENTER}`);
      (await server.next()).end("a\u001b]0;owned\u0007b\u001b[2Jc");
      await screen.shows("a]0;ownedb[2Jc");
    });
  },
);
