import { SUBJECT_TAG } from "@stemma/store";

// What facts are about. Words tell it where nothing searches by meaning: "moved to Lisbon" and "lives in Berlin" share none.

/** The tag of an entry with this subject. */
export function subjectTag(subject: string): string {
  return `${SUBJECT_TAG}${subject}`;
}

/** Tags with this subject in the place of another one. */
export function withSubject(tags: readonly string[], subject: string): string[] {
  return [...tags.filter((tag) => !tag.startsWith(SUBJECT_TAG)), subjectTag(subject)];
}

/** A subject as it is compared; null for a text that names none. */
export function subjectIn(text: unknown): string | null {
  if (typeof text !== "string") return null;
  const subject = text.normalize("NFKC").toLowerCase().trim().replace(/\s+/gu, "-").replaceAll("\0", "");
  return subject === "" || subject.length > 60 ? null : subject.toWellFormed();
}

/** The words by which people speak of a subject, as they begin. */
const WORDS: Readonly<Record<string, string>> = {
  home: "live moved moving relocated reside home house flat apartment city based settled address",
  work: "work job hired employer company joined employed career position promoted boss office quit fired retired",
  partner: "married wife husband partner girlfriend boyfriend engaged divorced dating single spouse",
  family: "son daughter child children baby kids brother sister mother father parents family",
  pet: "dog cat pet puppy kitten adopted",
  diet: "vegetarian vegan eat eats diet allergic allergy gluten meat food drink drinks coffee tea alcohol",
  health: "diagnosed health injury doctor medication allergic asthma diabetes pregnant smoke",
  study: "study studies student university college school degree course graduated learning thesis",
  vehicle: "car bike drive drives cycle commute train vehicle sold bought",
  language: "speak speaks language fluent native english german spanish french",
  name: "name called nickname surname",
  age: "old age birthday born years turned",
  sport: "run running gym plays play sport swim football tennis yoga marathon training",
  music: "music guitar piano band sing listens concert",
  travel: "trip travel flight vacation holiday visit visiting hotel",
  device: "phone laptop computer iphone android mac windows linux editor",
};

const SUBJECTS = Object.entries(WORDS).map(([subject, words]) => ({
  subject,
  pattern: new RegExp(`(?<![\\p{L}])(?:${words.replaceAll(" ", "|")})(?:s|d|ed|ing)?(?![\\p{L}])`, "iu"),
}));

/** The subjects that a text speaks of, as its words tell. */
export function subjectsIn(text: string): string[] {
  return SUBJECTS.filter(({ pattern }) => pattern.test(text)).map(({ subject }) => subject);
}

/** The words of a subject, to search with. */
export function wordsOf(subject: string): string {
  return WORDS[subject] ?? subject;
}

/** The subjects that a prompt offers. */
export const KNOWN_SUBJECTS: readonly string[] = Object.keys(WORDS);
