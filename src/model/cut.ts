/** `text.slice` with its ends moved so that no character is cut in two: what one piece leaves, the next one has. */
export function cut(text: string, start: number, end: number): string {
  return text.slice(boundary(text, start), boundary(text, end));
}

/** The index, or the one before it in the middle of a surrogate pair. */
export function boundary(text: string, index: number): number {
  const unit = text.charCodeAt(index);
  return unit >= 0xdc00 && unit <= 0xdfff ? index - 1 : index;
}
