/** One line of a profile: microseconds, and for what. */
export function printTime(what, milliseconds) {
  console.log(`  ${(milliseconds * 1000).toFixed(0).padStart(6)} µs  ${what}`);
}
