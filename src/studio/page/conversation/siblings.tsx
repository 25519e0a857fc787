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
  const step = (name: "previous" | "next", sibling: string | undefined) => {
    const icon = <Icon name={name === "previous" ? "left" : "right"} />;
    if (sibling === undefined) return <span class="step is-off">{icon}</span>;
    return (
      <a
        class="step"
        href={linkHere({ leaf: sibling, at: sibling })}
        aria-label={name === "previous" ? "The sibling before" : "The next sibling"}
        data-sibling={name}
      >
        {icon}
      </a>
    );
  };
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
