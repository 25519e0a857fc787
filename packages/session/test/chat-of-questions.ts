import type { Store } from "@stemma/store";
import { type RecalledPlace, SessionManager } from "../src/index.js";

/** What a user told once, what is asked about it, and the answer that repeats it. */
export const FACTS: Readonly<Record<string, readonly [fact: string, question: string, answer: string]>> = {
  dog: ["Has a beagle, a dog called Biscuit.", "What's my dog called?", "Your dog, a beagle, is called Biscuit."],
  work: ["Works as a nurse at Northgate Hospital.", "Where do I work?", "You work as a nurse at Northgate Hospital."],
  allergy: ["Is allergic to peanuts.", "What am I allergic to?", "You are allergic to peanuts."],
  car: ["Drives a green Saab car from 1994.", "Which car do I drive?", "You drive a green Saab car from 1994."],
  sister: ["Her sister Clara lives in Lisbon.", "Where does my sister live?", "Your sister Clara lives in Lisbon."],
  birthday: ["Her birthday is on 14 March.", "When is my birthday?", "Your birthday is on 14 March."],
  coffee: ["Drinks coffee with oat milk.", "How do I take my coffee?", "You drink your coffee with oat milk."],
  guitar: ["Plays a Gibson guitar on Tuesdays.", "Which guitar do I play?", "You play a Gibson guitar on Tuesdays."],
  marathon: [
    "Ran the marathon of Boston in 2019.",
    "Which marathon did I run?",
    "You ran the marathon of Boston in 2019.",
  ],
  dentist: [
    "Her dentist is Dr. Okafor in Mill Street.",
    "Who's my dentist?",
    "Your dentist is Dr. Okafor in Mill Street.",
  ],
  wifi: ["The wifi password hangs behind the fridge.", "Where's the wifi password?", "It hangs behind the fridge."],
  shoes: ["Wears shoes of size 39.", "What shoe size do I wear?", "You wear shoes of size 39."],
  book: ["Her favourite book is Middlemarch.", "What's my favourite book?", "Your favourite book is Middlemarch."],
  garden: ["Grows tomatoes and basil in the garden.", "What's in my garden?", "You grow tomatoes and basil there."],
  bank: ["Has an account with Triodos bank.", "Which bank am I with?", "You have an account with Triodos bank."],
  flight: ["Sits by the window on a flight.", "Which seat on a flight?", "You sit by the window on a flight."],
  school: ["Went to school in Aberdeen.", "Where did I go to school?", "You went to school in Aberdeen."],
  bike: ["Her bike was stolen in June.", "When was my bike stolen?", "Your bike was stolen in June."],
  phone: ["Her phone is a Fairphone.", "What phone do I have?", "Your phone is a Fairphone."],
  wine: ["Prefers dry white wine from Alsace.", "What wine do I prefer?", "You prefer dry white wine from Alsace."],
};

/** A message. */
export const said = (id: string, role: string, text: string) => ({ id, role, parts: [{ type: "text", text }] });
export const question = (name: string) => FACTS[name]?.[1] as string;
export const answer = (name: string) => FACTS[name]?.[2] as string;

interface Chat {
  readonly questions: readonly string[];
  readonly answers: readonly string[];
}

/** The names of what a chat shows behind its last question. */
export async function shownIn(store: Store, { questions, answers }: Chat): Promise<string[]> {
  const session = SessionManager.create(store).forUser("ada").getSession("now");
  const shown: RecalledPlace[] = [];
  for (const [at, text] of questions.entries()) {
    await session.appendMessage(said(`q${at}`, "user", text));
    shown.push(...(await session.prepareTurn({ recall: {} })).recalled.results);
    if (at < answers.length) await session.appendMessage(said(`a${at}`, "assistant", answers[at] as string));
  }
  await session.clearMessages();
  return shown.map((place) => (place.kind === "entry" ? place.key : place.sessionId));
}
