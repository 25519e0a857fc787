// Prints how the tests of a CI run ended, as the last thing that its log shows.
import { readFileSync } from "node:fs";
import { relative } from "node:path";

const runs = [1, 2].map((run) => JSON.parse(readFileSync(`node_modules/.cache/test-results-${run}.json`, "utf8")));
const sum = (field) => runs.reduce((total, run) => total + run[field], 0);
console.log(`${sum("numPassedTests")} passed, ${sum("numFailedTests")} failed, ${sum("numPendingTests")} skipped`);

// Either the test is at fault or, more rarely, the code: whoever reads this looks for the cause.
const tests = runs.flatMap(({ testResults }) =>
  testResults.flatMap(({ name, assertionResults }) => assertionResults.map((test) => ({ ...test, file: name }))),
);
for (const { status, failureMessages, file, fullName } of tests) {
  if (status !== "passed" || failureMessages.length === 0) continue;
  console.log(
    `\nPassed at the second attempt only: ${fullName} (${relative(process.cwd(), file)})\n${failureMessages[0]}`,
  );
}
