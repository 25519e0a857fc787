/** The text of whatever was thrown, as a model reads it. Never fails, and is never something that cannot be stored. */
export function errorText(error: unknown): string {
  try {
    const text = error instanceof Error ? error.message : typeof error === "string" ? error : JSON.stringify(error);
    if (typeof text === "string") return storable(text);
  } catch {
    // A bigint, a circle, a getter that throws.
  }
  try {
    return storable(String(error));
  } catch {
    return "Something was thrown that is no error.";
  }
}

function storable(text: string): string {
  return text.replaceAll("\0", "").toWellFormed();
}
