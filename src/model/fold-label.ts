/** Two labels name the same block when their folded forms are equal. It is also how the prompt shows a label. */
export function foldLabel(label: string): string {
  // Not every host is compiled against our types; what is no text is no block's label.
  return String(label).toUpperCase();
}
