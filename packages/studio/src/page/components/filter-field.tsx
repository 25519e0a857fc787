import { useEffect, useState } from "preact/hooks";
import { useDebounced } from "../hooks/use-change.js";
import { linkHere, navigate } from "../location.js";
import type { Place } from "../router.js";

interface Props {
  /** Of the query's value that it writes. */
  readonly name: string;
  readonly label: string;
  readonly place: Place;
  readonly type?: "search" | "date" | undefined;
}

/** A field whose text stands in the address. */
export function FilterField({ name, label, place, type = "search" }: Props) {
  const change = useDebounced((value: string) => navigate(linkHere({ [name]: value }), { replace: true }), 250);
  const present = place.query.get(name) ?? "";
  // The field has a text of its own while somebody writes; the address follows when they pause.
  const [text, setText] = useState(present);
  useEffect(() => setText(present), [present]);
  const write = (value: string) => {
    setText(value);
    change(value);
  };
  return (
    <label class="filter">
      <span>{label}</span>
      {/* The types of Preact take one kind of field at a time. */}
      <input type={type as "search"} value={text} onInput={(event) => write(event.currentTarget.value)} />
    </label>
  );
}
