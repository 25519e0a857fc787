/** A text whose pieces between « and » are marked. */
export function MarkedText({ text }: { readonly text: string }) {
  // At odd places stands what was between two marks.
  const pieces = text.split(/«([^«»]*)»/);
  return (
    <>
      {pieces.map((piece, place) =>
        // biome-ignore lint/suspicious/noArrayIndexKey: a piece is its place in the text.
        place % 2 === 1 ? <mark key={place}>{piece}</mark> : piece,
      )}
    </>
  );
}
