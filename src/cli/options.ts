import { InvalidArgumentError } from "commander";

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
