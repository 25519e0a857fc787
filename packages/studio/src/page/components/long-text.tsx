import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { bytes } from "../format.js";
import { Icon, type IconName } from "./icons.js";
import { ScrollRegion } from "./scroll-region.js";
/** How many characters are drawn before somebody asks for the rest. */
export const DRAWN_CHARACTERS = 20_000;

/** The beginning of a text, with a button for the rest where it is long. */
export function useShortened(text: string): { readonly text: string; readonly button: preact.JSX.Element | null } {
  const [isWhole, setWhole] = useState(false);
  if (isWhole || text.length <= DRAWN_CHARACTERS) return { text, button: null };
  const button = (
    <button type="button" class="show-rest" onClick={() => setWhole(true)}>
      Show all of it ({bytes(text.length)})
    </button>
  );
  return { text: text.slice(0, DRAWN_CHARACTERS), button };
}

/** A text as it stands, in a font of one width. */
export function LongText({ text, label }: { readonly text: string; readonly label: string }) {
  const shown = useShortened(text);
  return (
    <>
      <ScrollRegion label={label} class="text">
        <pre dir="auto">{shown.text}</pre>
      </ScrollRegion>
      {shown.button}
    </>
  );
}

/** A value as JSON. */
export function Json({ value, label }: { readonly value: unknown; readonly label: string }) {
  return <LongText text={typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "")} label={label} />;
}

interface Props {
  readonly icon: IconName;
  readonly title: ComponentChildren;
  /** Stands at the end of the line. */
  readonly aside?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** A line that opens to what lies beneath, which is drawn only then. */
export function Fold({ icon, title, aside, children }: Props) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="fold" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Icon name={icon} />
        <bdi class="fold-title">{title}</bdi>
        {aside}
        <span class="chevron">
          <Icon name="right" />
        </span>
      </summary>
      {isOpen && <div class="fold-body">{children}</div>}
    </details>
  );
}
