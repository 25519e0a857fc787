import { perObject } from "../lib/once.js";
import { cut } from "../messages/text.js";
import { MOST_QUERY } from "./query-length.js";
import { isUnspaced, MAX_WORDS, normalText, tokenize } from "./words.js";
/** A query, taken apart: what the user typed holds no operators, only words. */
export interface SearchQuery {
  /** As the user typed it, as far as it counts: the first 16,384 characters. */
  readonly text: string;
  /** Words to look for, lower case, without stop-words unless there is nothing else; each once. */
  readonly words: readonly string[];
  /** Runs of characters of scripts that are written without spaces; each once. */
  readonly runs: readonly string[];
  /** Phrases the user put in quotation marks: the words and runs of each, in order. */
  readonly phrases: readonly (readonly string[])[];
}

const QUOTED = /"([^"]+)"|“([^”]+)”|„([^“”]+)[“”]|«([^»]+)»|「([^」]+)」/gu;

/** Characters of a query in which quotation marks count: those that are never closed are looked for far. */
const MAX_QUOTING = 2_000;

/** Takes a query apart. Never throws; a query without a word gives one that finds nothing. */
export function parseQuery(query: string): SearchQuery {
  const text = cut(query, 0, MOST_QUERY);
  const normal = normalText(text);
  const tokens = tokenize(normal);
  const words = new Set(tokens.filter((token) => !isUnspaced(token)).map((word) => word.toLowerCase()));
  const runs = new Set(tokens.filter((token) => isUnspaced(token)));
  const isStopWord = stopWordsOf(words);
  const content = [...words].filter((word) => !isStopWord(word));
  const phrases: string[][] = [];
  for (const match of normal.slice(0, MAX_QUOTING).matchAll(QUOTED)) {
    const phrase = tokenize(match.slice(1).find((group) => group !== undefined) ?? "");
    if (phrase.length > 1) phrases.push(phrase);
  }
  return {
    text,
    words: content.length > 0 || runs.size > 0 ? content : [...words],
    runs: [...runs],
    phrases,
  };
}

/**
 * Splits a query into sequences of words that stand side by side; a character of an unspaced script is a word. A row matches
 * when it holds any of them. An unspaced run is looked for whole, and by each two of its characters. Quoted phrases stand last,
 * from `quotedFrom` on.
 */
export function querySequences(query: SearchQuery): readonly string[][] {
  return sequencesOf(query).all;
}

/** The index of the first sequence that is looked for only because it was quoted. */
export function quotedFrom(query: SearchQuery): number {
  return sequencesOf(query).quotedFrom;
}

interface Sequences {
  readonly all: readonly string[][];
  readonly quotedFrom: number;
}

// The search asks for them, and the snippet of each result.
const sequencesOf = perObject((query: SearchQuery): Sequences => {
  const plain = plainSequences(query);
  const quoted = query.phrases.map((phrase) =>
    phrase.flatMap((token) => (isUnspaced(token) ? Array.from(token) : [token])),
  );
  return { all: unique([...plain, ...quoted]).slice(0, MAX_WORDS), quotedFrom: plain.length };
});

function plainSequences(query: SearchQuery): string[][] {
  const sequences = query.words.map((word) => [word]);
  for (const run of query.runs) {
    const characters = Array.from(run).slice(0, MAX_WORDS);
    sequences.push(characters);
    if (characters.length > 2) {
      sequences.push(...characters.slice(1).map((character, index) => [characters[index] as string, character]));
    }
  }
  return unique(sequences).slice(0, MAX_WORDS);
}

function unique(sequences: readonly string[][]): string[][] {
  return [...new Map(sequences.map((sequence) => [sequence.join("\0"), sequence])).values()];
}

const ENGLISH = `a about above after again against all am an and any are aren as at be because been before being below between
both but by can cannot could couldn d did didn do does doesn doing don down during each few for from further had hadn has hasn
have haven having he her here hers herself him himself his how i if in into is isn it its itself let ll m me more most mustn my
myself no nor not of off on once only or other ought our ours ourselves out over own re s same shan she should shouldn so some
such t than that the their theirs them themselves then there these they this those through to too under until up ve very was
wasn we were weren what when where which while who whom why will with won would wouldn you your yours yourself yourselves`;

const OTHERS = [
  // German
  `aber alle als am an auch auf aus bei bin bis bist da damit dann das dass dein deine dem den der des dich die dies diese dieser
dieses dir doch du durch ein eine einem einen einer eines er es euch euer für gegen habe haben hast hat hatte hatten hier ich ihm
ihn ihnen ihr ihre ihrem ihren im in ist ja kann kein keine können man mein meine meinem meinen meiner mich mir mit nach nicht noch
nun nur ob oder ohne schon sein seine seinem seinen seiner sich sie sind so soll um und uns unser unsere unter vom von vor wann war
waren warum was weil welche welchem welchen welcher welches wem wen wenn wer werde werden wie wieder will wir wird wo woher wohin
wurde wurden zu zum zur zwischen über`,
  // French
  `ai as au aux avec avez avons c ce ces cet cette ceux combien comment d dans de des du elle elles en es est et eu il ils j je l
la le les leur leurs lui m ma mais me mes moi mon n ne nos notre nous on ont ou où par pas pendant plus pour pourquoi qu quand que
quel quelle quelles quels qui quoi s sa sans se ses si son sont sous sur t ta te tes toi ton tu un une vos votre vous y à étaient
était été être`,
  // Spanish
  `a al algo como con cual cuando cuál cuándo cuánto de del desde donde dónde el ella ellas ellos en entre era eran es esa ese eso
esta este esto estos está están fue fueron ha han hasta hay la las le les lo los me mi mis muy más nada ni no nos nosotros o os para
pero por porque que quien quién qué se ser si sido sin sobre son su sus sí también te tiene tienen todo tu tus un una unas uno unos y
ya yo él`,
  // Portuguese
  `a ao aos as com como da das de dela dele do dos e ela elas ele eles em era eram essa esse esta este está eu foi foram há isso
isto já lhe mais mas me meu minha muito na nas nem no nos num numa não nós o onde os ou para pela pelas pelo pelos por porque quais
qual quando quanto que quem se sem ser seu seus sua suas só também te tem tinha tu têm um uma umas uns você vocês à às é`,
  // Italian
  `a ad ai al alla alle allo anche c che chi ci come con cosa cui da dai dal dalla dalle degli dei del della delle dello di dove e
ed era erano fra gli ha hai hanno ho i il in io l la le lei li lo loro lui ma mi mia mie mio ne nei nel nella nelle noi non nostra
nostro o per perché più quale quali quando quanto quella quelle quelli quello questa queste questi questo se sei si sia siamo sono su
sua sue sul sulla suo suoi tra tu tua tuo un una uno vi voi è`,
  // Dutch
  `aan al als bij daar dan dat de den der deze die dit door dus een en er geen had hadden heb hebben heeft hem het hier hij hoe hun
ik in is ja je jij jou jouw jullie kan kon maar me meer men met mij mijn na naar niet nog nu of om omdat ons onze ook op over te
tegen toch toen tot u uit uw van veel voor waar waarom wanneer want waren was wat we wel welk welke werd wie wij worden wordt zal ze
zelf zich zij zijn zo zonder zou`,
  // Russian
  `а без бы был была были было в вам вас во вот все всё вы где да даже для до его ее если есть еще ещё её же за и из или им их к как
какая какие какой когда которая которые который кто куда ли мне мой моя мы на над нам нас не него нее нет ни но ну о об он она они
оно от по под почему при с свой сколько со так также там тебя то тоже только ты у уже чем что чтобы эта эти это этот я`,
];

// Of another language, but words in English too: alone they do not tell which one a text is in.
const ALSO_ENGLISH = new Set(
  `also as com come comment con den die do door dos dove era had hat he hay in is kan la man mas men met mit nun of on or over par
per plus pour real sin so sole son sobre sue sur tan ten todo ton tot tout van want war was we well will`.split(/\s+/),
);

const toSet = (list: string) => new Set(list.split(/\s+/));
const [english, ...others] = [ENGLISH, ...OTHERS].map(toSet) as [Set<string>, ...Set<string>[]];

/**
 * Tells which of a query's words, in lower case, say nothing about what is looked for: those of the language that most of
 * them speak for, among English, German, French, Spanish, Portuguese, Italian, Dutch and Russian. English unless another
 * one is plainer; where several are equally plain, the words of each.
 */
function stopWordsOf(words: Iterable<string>): (word: string) => boolean {
  const all = [...words];
  const count = (list: ReadonlySet<string>) => all.filter((word) => list.has(word)).length;
  const plain = others.map((list) => all.filter((word) => list.has(word) && !ALSO_ENGLISH.has(word)).length);
  const most = Math.max(...plain);
  if (count(english) >= most) return (word) => english.has(word);
  const spoken = others.filter((_, index) => plain[index] === most);
  return (word) => spoken.some((list) => list.has(word));
}
