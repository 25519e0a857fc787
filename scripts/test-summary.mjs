// Prints how the tests of a CI run ended, as the last thing that its log shows.
import { readFileSync } from "node:fs";

const runs = [1, 2].map((run) => JSON.parse(readFileSync(`node_modules/.cache/test-results-${run}.json`, "utf8")));
const sum = (field) => runs.reduce((total, run) => total + run[field], 0);
console.log(`${sum("numPassedTests")} passed, ${sum("numFailedTests")} failed, ${sum("numPendingTests")} skipped`);
