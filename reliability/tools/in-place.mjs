import { readFileSync } from "node:fs";
import { dirname } from "node:path";

/** A bundled module finds what lies beside its source. */
export const inPlace = {
  name: "in-place",
  setup({ onLoad }) {
    onLoad({ filter: /\/(test|reliability|scripts)\/.*\.(ts|mjs)$/ }, ({ path }) => ({
      contents: readFileSync(path, "utf8")
        .replaceAll(/import\.meta\.dirname/g, JSON.stringify(dirname(path)))
        .replaceAll(/import\.meta\.url/g, JSON.stringify(`file://${path}`)),
      loader: "ts",
    }));
  },
};
