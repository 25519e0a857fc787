import { ago, fullTime } from "../format.js";

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
