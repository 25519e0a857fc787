import { gzipSync } from "node:zlib";
import ts from "typescript";
import { sessionBundle } from "../families/bundle.mjs";

const SQL = /\b(?:SELECT|INSERT INTO|UPDATE|DELETE FROM|CREATE|DROP|ALTER|WITH RECURSIVE|FROM assistant_)\b/;
/** Texts shorter than this are names. */
const MIN_TEXT = 24;

/** What the bundle consists of, compressed: by what it shrinks when a kind of text is left out of it. */
export async function profileBundle() {
  const { text: code } = await sessionBundle();
  const whole = sizeOf(code);
  const withoutSql = sizeOf(without(code, (text) => SQL.test(text)));
  const withoutTexts = sizeOf(without(code, () => true));
  console.log("What stemma/session reaches, minified + gzip");
  print("SQL", whole - withoutSql);
  print("other texts: errors with their advice, prompts, stop-words, descriptions of tools", withoutSql - withoutTexts);
  print("code", withoutTexts);
  print("together", whole);
}

const sizeOf = (code) => gzipSync(code, { level: 9 }).length;

// The code with the texts that `isLeftOut` names empty.
function without(code, isLeftOut) {
  const source = ts.createSourceFile("bundle.js", code, ts.ScriptTarget.ES2022, false, ts.ScriptKind.JS);
  const cuts = [];
  const visit = (node) => {
    const isText =
      ts.isStringLiteral(node) ||
      node.kind === ts.SyntaxKind.NoSubstitutionTemplateLiteral ||
      node.kind === ts.SyntaxKind.TemplateHead ||
      node.kind === ts.SyntaxKind.TemplateMiddle ||
      node.kind === ts.SyntaxKind.TemplateTail;
    if (isText && node.text.length >= MIN_TEXT && isLeftOut(node.text)) cuts.push([node.getStart(source), node.end]);
    ts.forEachChild(node, visit);
  };
  visit(source);
  let rest = "";
  let from = 0;
  for (const [start, end] of cuts) {
    rest += code.slice(from, start);
    from = end;
  }
  return rest + code.slice(from);
}

function print(what, bytes) {
  console.log(`  ${(bytes / 1000).toFixed(1).padStart(6)} kB  ${what}`);
}
