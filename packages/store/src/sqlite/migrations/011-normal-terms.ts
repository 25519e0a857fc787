import { type Operation, run } from "../../engine/operation.js";

/** Version 11. The search index holds terms of normal texts: "ＵＳＢ" is "usb", "ß" is "ss". It is made anew from the rows. */
export function* indexNormalTerms(): Operation<void> {
  yield* run("UPDATE assistant_schema SET indexed = 0");
}
