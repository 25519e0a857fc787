import { parseQuery, type SearchQuery } from "./query.js";
import { normalText } from "./words.js";

// Of the languages of the stop-words, and in Chinese, Japanese and Korean: what people say to go on, to agree, to thank and to greet.
const SMALL_TALK = new Set(
  `absolutely again agree agreed ah ahead alright amazing anyway appreciate awesome aye bit bye cheers clear continue cool correct course
done exactly excellent fantastic fine forget get gladly go going good goodbye got great ha haha happy hello help hey hi hm hmm hmmm
indeed interesting just keep know later let like lol look lot lovely make maybe mean mind moment morning much need never next nice night
nope oh ok okay okey one perfect perfectly please pls possibly proceed question ready really right say see sec second show similar sorry
sounds start stop super sure tell thank thanks thankyou thing think thx true try understand understood very wait want way welcome well
whatever wonderful work works wow wrong yay yeah yep yes yet yo yup
alles bitte dank danke genau gerne guten gut hallo klar los machen mach mal morgen nein passt richtig schön sehr stimmt toll tschüss
verstanden vielen warte weiter
accord bien bonjour bonsoir continuer merci non oui parfait salut suite super vas voilà
adelante adiós bueno claro gracias hola perfecto sigue vale
certo claro continua continue obrigada obrigado oi olá perfeito sim tudo
buongiorno ciao esatto grazie perfetto prego
bedankt dag dank doei doen ga goed hallo ja leuk nee oké prima
верно да дальше добрый здравствуйте круто ок отлично пока понятно понял привет продолжай спасибо хорошо`.split(/\s+/),
);
const SMALL_RUNS = new Set(
  `你好 谢谢 谢谢你 多谢 好 好的 好吧 是 是的 对 不 不是 嗯 继续 请继续 可以 明白 明白了 再见 はい いいえ うん ありがとう ありがとうございます
続けて お願いします 了解 了解です わかりました こんにちは そう そうです 네 예 아니요 감사합니다 고마워 고마워요 계속 계속해 계속해주세요 좋아 좋아요 안녕 안녕하세요`.split(
    /\s+/,
  ),
);
// "Where do I work?" is about something, "that works" is not.
const ASKED = new Set("like need want work works".split(" "));
const QUESTION = /\b(?:how|what|when|where|which|who|whom|whose|why)\b.*\b(?:i|me|mine|my|our|us|we)\b/su;

// A query of nothing but stop-words keeps them: beside a word that is none, they are left out.
const WORD = "stemmaword";

/** True for a text that is about something. */
export function isTelling(text: string): boolean {
  const { words, runs } = tellingQuery(text);
  return words.length + runs.length > 0;
}

/**
 * The query of what a text is about: without stop-words, and without what is said in any conversation, as thanks and
 * greetings. It has neither words nor runs for "thanks", "go on" or "ok 👍", which are about nothing.
 */
export function tellingQuery(text: string): SearchQuery {
  const plain = normalText(text).toLowerCase();
  const { words, runs, ...query } = parseQuery(`${WORD} ${plain}`);
  const isQuestion = QUESTION.test(plain);
  const isTold = (word: string) => !SMALL_TALK.has(word) || (isQuestion && ASKED.has(word));
  return {
    ...query,
    words: words.filter((word) => word !== WORD && isTold(word)),
    runs: runs.filter((run) => !SMALL_RUNS.has(run)),
    phrases: [],
  };
}
