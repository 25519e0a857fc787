/**
 * The regular expression of a file pattern: `*` and `?` within a name, `**` for any directories, `[abc]`, `{a,b}`.
 * A pattern without `/` matches names in any directory.
 */
export function globPattern(pattern: string): RegExp {
  const rooted = pattern.includes("/") ? pattern.replace(/^\.?\//, "") : `**/${pattern}`;
  return new RegExp(`^${translate(rooted)}$`, "u");
}

const TOKEN = /\*\*\/|\*\*|\*|\?|\[[^\]/]+\]|\{|\}|,|[\s\S]/gu;

function translate(pattern: string): string {
  let depth = 0;
  let source = "";
  const closable = (pattern.match(/\}/g) ?? []).length;
  let opened = 0;
  for (const [token] of pattern.matchAll(TOKEN)) {
    if (token === "**/") source += "(?:[^/]+/)*";
    else if (token === "**") source += ".*";
    else if (token === "*") source += "[^/]*";
    else if (token === "?") source += "[^/]";
    else if (token === "{" && opened < closable) {
      depth += 1;
      opened += 1;
      source += "(?:";
    } else if (token === "}" && depth > 0) {
      depth -= 1;
      source += ")";
    } else if (token === "," && depth > 0) source += "|";
    else if (token.length > 2 && token.startsWith("[")) source += characterClass(token.slice(1, -1));
    else source += literal(token);
  }
  return source + ")".repeat(depth);
}

function characterClass(content: string): string {
  const negated = /^[!^]/.test(content);
  const members = (negated ? content.slice(1) : content).replace(/[\\[\]^]/g, "\\$&");
  return `[${negated ? "^/" : ""}${members}]`;
}

function literal(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}
