import { expect, it } from "vitest";
import { isTelling, tellingQuery } from "../../../src/search/small-talk.js";

it.each([
  "thanks!",
  "Go on.",
  "ok 👍",
  "That works, great.",
  "I like it!",
  "what next?",
  "How are you?",
  "danke",
  "谢谢",
  "",
])("%s is about nothing", (text) => {
  expect(isTelling(text)).toBe(false);
});

it.each(["Where do I work?", "what do I like", "Which one did we want?", "What does my sister need?", "Kyoto"])(
  "%s is about something",
  (text) => {
    expect(isTelling(text)).toBe(true);
  },
);

it("leaves out thanks and greetings beside what a text is about", () => {
  expect(tellingQuery("Hello, thanks! The trip to Kyoto").words).toEqual(["trip", "kyoto"]);
});
