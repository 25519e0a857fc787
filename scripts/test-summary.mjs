// Prints how the last `CI=true npm test` ended, as the last thing that a CI log shows.
import { readFileSync } from "node:fs";

const results = JSON.parse(readFileSync("node_modules/.cache/test-results.json", "utf8"));
const { numPassedTests, numFailedTests, numPendingTests } = results;
console.log(`${numPassedTests} passed, ${numFailedTests} failed, ${numPendingTests} skipped`);
