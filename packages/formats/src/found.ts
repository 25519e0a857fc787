import { isoTime } from "@stemma/model";

/** A text that says something; undefined for any other value. */
export function findText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** The time that a text tells, as ISO text in UTC; undefined for any other value. */
export function findTime(value: unknown): string | undefined {
  return (typeof value === "string" ? isoTime(value) : null) ?? undefined;
}
