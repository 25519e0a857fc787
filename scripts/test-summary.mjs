// Prints how the tests of a CI run ended, as the last thing that its log shows.
import { existsSync, readFileSync } from "node:fs";
import { relative } from "node:path";

// A run that failed may lack some parts, or all.
const parts = [1, 2, 3]
  .map((part) => `node_modules/.cache/test-results-${part}.json`)
  .filter((path) => existsSync(path));
if (parts.length === 0) process.exit();
const runs = parts.map((path) => JSON.parse(readFileSync(path, "utf8")));
const sum = (field) => runs.reduce((total, run) => total + run[field], 0);
console.log(`${sum("numPassedTests")} passed, ${sum("numFailedTests")} failed, ${sum("numPendingTests")} skipped`);

// Either the test is at fault or, more rarely, the code: whoever reads this looks for the cause.
const tests = runs.flatMap(({ testResults }) =>
  testResults.flatMap(({ name, assertionResults }) => assertionResults.map((test) => ({ ...test, file: name }))),
);
for (const { status, failureMessages, file, fullName } of tests) {
  if (failureMessages.length === 0) continue;
  const outcome = status === "passed" ? "Passed at the second attempt only" : "Failed";
  console.log(`\n${outcome}: ${fullName} (${relative(process.cwd(), file)})`);
  for (const message of failureMessages) console.log(message);
}
