import { expect, it, vi } from "vitest";
import manifest from "../../../packages/stemma/package.json" with { type: "json" };
import { patience } from "../../helpers/patience.js";
import { replaceStreams } from "../../helpers/replaced-streams.js";

// The module runs the command line of its process, once.
it("runs the command line of the process", async () => {
  const streams = replaceStreams();
  const argv = process.argv;
  try {
    process.argv = ["node", "stemma", "--version"];
    await import("../../../packages/cli/src/main.js");
    await vi.waitFor(() => expect(streams.output()).toBe(`${manifest.version}\n`), patience(20_000));
  } finally {
    process.argv = argv;
    streams.restore();
  }
});
