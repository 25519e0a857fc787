import type { ComponentChildren } from "preact";
import { ago, fullTime } from "../format.js";
/** A name with its value, in a list of facts. */
export function Fact({ name, value }: { readonly name: string; readonly value: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <bdi>{value}</bdi>
      </dd>
    </div>
  );
}

/** How long ago something was; the full time shows on hover. */
export function Time({ at }: { readonly at: string | number | Date }) {
  const time = new Date(at);
  const isValid = !Number.isNaN(time.getTime());
  return (
    <time dateTime={isValid ? time.toISOString() : undefined} title={fullTime(time)}>
      {ago(time)}
    </time>
  );
}
