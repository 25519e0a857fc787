import { useContext } from "preact/hooks";
import { Icon } from "../components/icons.js";
import { count } from "../format.js";
import { TreeContext } from "../lanes/use-tree.js";
import { linkHere, linkTo, navigate } from "../location.js";

interface Props {
  readonly id: string;
  readonly messageId: string;
  readonly siblings: readonly string[];
}

/** Leads to the messages that stand beside one, each with the newest branch below it. */
export function Siblings({ id, messageId, siblings }: Props) {
  const tree = useContext(TreeContext);
  const place = siblings.indexOf(messageId);
  if (siblings.length < 2 || place < 0) return null;
  const show = (sibling: string) => async (event: MouseEvent) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    const known = tree?.knownLeafBelow(sibling) ?? null;
    const address = linkHere({ leaf: known ?? sibling, at: sibling });
    navigate(address);
    if (known !== null) return;
    // The path ends at the sibling until the tree has come that tells what follows it.
    const leaf = await tree?.leafBelow(sibling);
    if (leaf && leaf !== sibling && address === location.pathname + location.search) {
      navigate(linkHere({ leaf }), { replace: true });
    }
  };
  const step = (name: "previous" | "next", sibling: string | undefined) =>
    sibling === undefined ? (
      <span class="step is-off">
        <Icon name={name === "previous" ? "left" : "right"} />
      </span>
    ) : (
      <a
        class="step"
        href={linkTo("/session", { id, leaf: sibling, at: sibling })}
        aria-label={name === "previous" ? "The sibling before" : "The next sibling"}
        data-sibling={name}
        onClick={show(sibling)}
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
