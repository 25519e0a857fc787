import { describe, expect, it } from "vitest";
import { parseQuery, querySequences, quotedFrom } from "../../../src/search/query.js";

const words = (text: string) => parseQuery(text).words;

describe("a query", () => {
  it.each([
    ["English", "When did Caroline go to the library?", ["caroline", "go", "library"]],
    ["German", "Wann war die Prüfung über den Rhein?", ["prüfung", "rhein"]],
    ["French", "Où est la bibliothèque de l'école?", ["bibliothèque", "école"]],
    ["Spanish", "¿Cuándo fue la reunión con los clientes?", ["reunión", "clientes"]],
    ["Portuguese", "Quando foi a reunião com os clientes?", ["reunião", "clientes"]],
    ["Italian", "Dove è la riunione con i clienti?", ["riunione", "clienti"]],
    ["Dutch", "Wanneer is het overleg met de klanten?", ["overleg", "klanten"]],
    ["Russian", "Когда была встреча с клиентами?", ["встреча", "клиентами"]],
  ])("drops the stop-words of %s", (_, text, expected) => {
    expect(words(text)).toEqual(expected);
  });

  it("keeps the stop-words of other languages", () => {
    expect(words("how did he die in the war")).toEqual(["die", "war"]);
    expect(words("the man with the hat")).toEqual(["man", "hat"]);
    expect(words("die hard")).toEqual(["die", "hard"]);
    expect(words("une gare")).toEqual(["gare"]);
  });

  it("of stop-words alone looks for them", () => {
    expect(words("to be or not to be")).toEqual(["to", "be", "or", "not"]);
    expect(words("der die das")).toEqual(["der", "die", "das"]);
    expect(words("the 天気")).toEqual([]);
  });

  it("has a bounded number of sequences to look for, whatever is typed", () => {
    const long = Array.from({ length: 5000 }, (_, index) => `w${index}`).join(" ");
    for (const text of [long, "天地玄黄宇宙洪荒".repeat(500), `${'"a b" '.repeat(500)}`, "«".repeat(100_000)]) {
      const query = parseQuery(text);
      expect(querySequences(query).length).toBeLessThanOrEqual(256);
      for (const sequence of querySequences(query)) expect(sequence.length).toBeLessThanOrEqual(256);
      expect(quotedFrom(query)).toBeLessThanOrEqual(256);
    }
  });
});
