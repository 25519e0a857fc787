const WIDTHS = ["72%", "94%", "58%", "86%", "66%", "90%"];

/** Grey lines in the place of what is on its way. */
export function Loading() {
  return (
    <div class="loading" role="status" aria-label="Loading">
      {WIDTHS.map((width) => (
        <span key={width} class="loading-line" style={{ width }} />
      ))}
    </div>
  );
}
