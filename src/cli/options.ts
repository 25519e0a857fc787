import { InvalidArgumentError } from "commander";

/** An option's text, which says something. */
export function nonEmpty(text: string): string {
  if (text === "") throw new InvalidArgumentError("It must not be empty.");
  return text;
}

/** One of the names that an option may have. */
export function oneOf(names: readonly string[]): (text: string) => string {
  return (text) => {
    if (names.includes(text)) return text;
    throw new InvalidArgumentError(`Known are: ${names.join(", ")}.`);
  };
}

/** An option's whole number above 0. */
export function positiveNumber(text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 1) throw new InvalidArgumentError("It must be a whole number above 0.");
  return number;
}

/** An option's whole number from 0. */
export function wholeNumber(text: string): number {
  const number = Number(text);
  if (text.trim() === "" || !Number.isSafeInteger(number) || number < 0)
    throw new InvalidArgumentError("It must be a whole number from 0.");
  return number;
}
