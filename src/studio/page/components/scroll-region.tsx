import type { ComponentChildren } from "preact";

interface Props {
  readonly label: string;
  readonly class?: string;
  readonly children: ComponentChildren;
}

/** Something wide or long that scrolls by itself. A keyboard reaches it. */
export function ScrollRegion({ label, class: name = "", children }: Props) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys scroll what has the focus.
    <section class={`scroll-region ${name}`} tabIndex={0} aria-label={label}>
      {children}
    </section>
  );
}
