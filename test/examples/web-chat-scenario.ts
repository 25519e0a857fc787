import type { Page } from "playwright-core";

/** Milliseconds between two keys, for a person who looks on. */
const KEY = 28;

/**
 * The scenario of the animation in the README: a fact is noted, a new chat knows it and says why; a question is edited, and its
 * answer stopped. With `slowly` it types and waits so that a person can follow.
 */
export async function playScenario(page: Page, slowly: boolean): Promise<void> {
  const pause = (milliseconds: number) => page.waitForTimeout(slowly ? milliseconds : 0);
  const typing = { delay: slowly ? KEY : 0 };
  const say = async (text: string) => {
    await page.getByLabel("Message", { exact: true }).pressSequentially(text, typing);
    await pause(250);
    await page.keyboard.press("Enter");
    const answer = page.getByRole("article", { name: "Answer" }).first();
    await answer.getByRole("button", { name: "Answer again" }).waitFor();
  };

  await say("I live in Lisbon and I love cycling.");
  await page.locator(".fact", { hasText: "Likes cycling" }).waitFor();
  await pause(1200);

  await page.getByRole("button", { name: "New chat" }).click();
  await page.getByText("Hello, Ada.").waitFor();
  await say("What do you know about me?");
  await page.getByRole("article", { name: "Answer" }).getByText("Lives in Lisbon").waitFor();
  await pause(700);

  const fact = page.locator(".fact", { hasText: "Lives in Lisbon" });
  await fact.getByText("Why do you know that?").click();
  await pause(1200);
  await fact.getByRole("link").click();
  await page.locator('[data-marked="true"]', { hasText: "I live in Lisbon and I love cycling." }).waitFor();
  await pause(1300);
  await fact.getByText("Why do you know that?").click();

  await page.getByRole("article", { name: "You" }).hover();
  await page.getByRole("button", { name: "Edit" }).click();
  await pause(500);
  const field = page.getByLabel("Edit the message");
  await field.press("Control+a");
  await field.pressSequentially("How does this work?", typing);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Messages form a tree" }).waitFor();
  await pause(2200);
  await page.keyboard.press("Escape");
  await page.getByText("You stopped this answer.").waitFor();
  await pause(700);

  await page.locator(".scroll").evaluate((place) => place.scrollTo({ top: 0, behavior: "smooth" }));
  await pause(600);
  await page.locator(".question .switch button").first().click();
  await page.locator(".question", { hasText: "I live in Lisbon and I love cycling." }).waitFor();
  await pause(900);
}
