import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Icon, type IconName } from "./icons.js";

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
