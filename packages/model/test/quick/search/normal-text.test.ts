import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyString } from "../../../../../test/helpers/any-string.js";
import { parseQuery } from "../../../src/search/query.js";
import { markedSnippet } from "../../../src/search/snippet.js";
import { documentTerms, queryTerms } from "../../../src/search/terms.js";
import { normalText, originalRanges } from "../../../src/search/words.js";

const terms = (text: string) => documentTerms(text).join(" ");

describe("terms", () => {
  it.each([
    ["full-width letters", "ＵＳＢケーブル", "USBケーブル"],
    ["full-width digits", "注文番号は１２３４です", "注文番号は1234です"],
    ["half-width kana", "ﾃﾞｰﾀｾｯﾄ ﾊﾟｲﾌﾟ", "データセット パイプ"],
    ["kana of two characters", "か\u3099くせい", "がくせい"],
    ["a ligature", "the ﬁnal oﬀer", "the final offer"],
    ["ß", "Straße", "STRASSE"],
    ["a capital ẞ", "STRAẞE", "strasse"],
    ["a dotless ı", "IŞIK", "ışık"],
    ["a final ς", "ΣΊΣΥΦΟΣ", "σίσυφος"],
    ["an iota below", "τῷ", "\u03a4\u03a9\u0342\u0399"],
    ["a ligature of Armenian", "և", "ԵՒ"],
    ["digits above and below the line", "H₂O, m², ①", "H2O, m2, 1"],
    ["letters of mathematics", "𝒳 and 𝐔𝐒𝐁", "X and USB"],
    ["one character for several", "山田㍿", "山田株式会社"],
    ["a radical", "⼀", "一"],
    ["forms of Arabic letters", "ﻣﺮﺣﺒﺎ", "مرحبا"],
    ["letters of Hangul in half width", "ﾡﾢ", "ㄱㄲ"],
    ["a name with a variant of a character", "葛\u{e0100}城", "葛城"],
    ["a soft hyphen", "Donau\u00addampf", "Donaudampf"],
    ["a no-break space", "10\u00a0000", "10 000"],
  ])("take %s for what it stands for", (_, one, other) => {
    expect(terms(one)).toBe(terms(other));
    expect(queryTerms(parseQuery(one))).toEqual(queryTerms(parseQuery(other)));
  });

  it("keep what a sign stands for apart from the word beside it", () => {
    expect(documentTerms("Stemma™ №5 1½ 5㎏ 20℃")).toEqual("stemma tm no 5 1 1 2 5 kg 20 c".split(" "));
    expect(documentTerms("don´t, ❤️ 2️⃣")).toEqual(["don", "t", "2⃣"]);
  });

  it("are the same of a text and of its normal text", () => {
    fc.assert(
      fc.property(anyString(), (text) => {
        expect(documentTerms(normalText(text))).toEqual(documentTerms(text));
      }),
      { numRuns: 2000 },
    );
  });

  it("are those of the text in upper and lower case", () => {
    const wrong: string[] = [];
    for (let code = 0; code < 0x3_0000; code += 1) {
      const character = String.fromCodePoint(code);
      const own = terms(character);
      if (own !== terms(character.toUpperCase()) || own !== terms(character.toLowerCase())) wrong.push(character);
    }
    expect(wrong).toEqual([]);
  });

  it("take a phrase in full-width quotation marks for a phrase", () => {
    expect(parseQuery("＂ｂｌｕｅ　ｗｈａｌｅｓ＂").phrases).toEqual([["blue", "whales"]]);
  });
});

describe("the text around matches", () => {
  it.each([
    ["ＵＳＢケーブルを買う", "usb", "«ＵＳＢ»ケーブルを買う"],
    ["新しいﾃﾞｰﾀｾｯﾄです", "データ", "新しい«ﾃﾞｰﾀ»ｾｯﾄです"],
    ["か\u3099くせいは学生", "がくせい", "«か\u3099くせい»は学生"],
    ["注文番号は１２３４です", "1234", "注文番号は«１２３４»です"],
    ["The ﬁnal oﬀer… ﬁnally", "final", "The «ﬁnal» oﬀer… «ﬁnally»"],
    ["Die Straße", "STRASSE", "Die «Straße»"],
    ["山田㍿の件", "山田株式会社", "«山田㍿»の件"],
    ["山田㍿の件", "株 社", "山田«㍿»の件"],
    ["1½ cafe\u0301s™ 😀 ok", "café", "1½ «cafe\u0301s»™ 😀 ok"],
  ])("is that of the original: %s", (text, query, expected) => {
    expect(markedSnippet(text, parseQuery(query))).toBe(expected);
  });

  it("is found far in a long text, and cut there", () => {
    const text = `${"ﾃﾞｰﾀ… ".repeat(100_000)}ＵＳＢケーブル${" ﬁ".repeat(1000)}`;
    expect(markedSnippet(text, parseQuery("usb"))).toMatch(/^…ﾃﾞｰﾀ… .*«ＵＳＢ»ケーブル ﬁ.*…$/);
  });

  it("is of ranges that make the same text again", () => {
    const word = fc.constantFrom(
      "ﾃﾞｰﾀ",
      "か\u3099",
      "ﬃ",
      "㍿",
      "½",
      "™",
      "ㄱㅏㄳ",
      "가",
      "葛\u{e0100}",
      "plain ",
      "é",
      "😀",
      "´",
      "ﷺ",
      // A mark behind a space, of a text that is normal.
      " \u1a55",
    );
    const text = fc.oneof(
      fc.array(fc.oneof(word, anyString()), { maxLength: 30 }).map((all) => all.join("")),
      anyString(),
    );
    fc.assert(
      fc.property(text, (original) => {
        const normal = normalText(original);
        const rangeOf = originalRanges(original);
        let end = 0;
        let made = "";
        let place = 0;
        for (const character of normal) {
          const range = rangeOf({ start: place, end: place + character.length });
          expect(range.start).toBeLessThan(range.end);
          place += character.length;
          if (range.start >= end) made += normalText(original.slice(end, range.end));
          end = Math.max(end, range.end);
        }
        expect(made + normalText(original.slice(end))).toBe(normal);
      }),
      { numRuns: 3000 },
    );
  });
});
