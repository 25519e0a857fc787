// Global setup of the tests that need what is installed here. Where that cannot be installed, they are skipped; in CI they fail.
import { install } from "./install.mjs";

export default function setup() {
  try {
    install();
  } catch (error) {
    if (process.env.CI) throw error;
    console.warn(`${error.message}\nThe tests that need it are skipped.`);
  }
}
