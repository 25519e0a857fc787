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
    // biome-ignore lint/a11y/useSemanticElements: a fieldset groups fields; this groups text.
    <div class={`scroll-region ${name}`} tabIndex={0} role="group" aria-label={label}>
      {children}
    </div>
  );
}
