import { Icon } from "../components/icons.js";
import { count } from "../format.js";
import { linkHere } from "../location.js";

interface Props {
  readonly messageId: string;
  readonly siblings: readonly string[];
}

/** Leads to the messages that stand beside one, each with the newest branch below it. */
export function Siblings({ messageId, siblings }: Props) {
  const place = siblings.indexOf(messageId);
  if (siblings.length < 2 || place < 0) return null;
  const step = (name: "previous" | "next", sibling: string | undefined) =>
    sibling === undefined ? (
      <span class="step is-off">
        <Icon name={name === "previous" ? "left" : "right"} />
      </span>
    ) : (
      <a
        class="step"
        href={linkHere({ leaf: sibling, at: sibling })}
        aria-label={name === "previous" ? "The sibling before" : "The next sibling"}
        data-sibling={name}
      >
        <Icon name={name === "previous" ? "left" : "right"} />
      </a>
    );
  return (
    <span class="siblings">
      {step("previous", siblings[place - 1])}
      <span title="Which of the messages that stand in this place">
        {count(place + 1)}/{count(siblings.length)}
      </span>
      {step("next", siblings[place + 1])}
    </span>
  );
}
