import type { Plugin } from "esbuild";
import { ENTRY_POINTS, ROOT } from "../package/manifest.js";

/** Programs name the package as its users do, and run on its sources. */
export const sources: Plugin = {
  name: "sources",
  setup({ onResolve }) {
    onResolve({ filter: /^stemma/ }, ({ path }) => {
      const source = ENTRY_POINTS.find(({ specifier }) => specifier === path)?.source;
      return source === undefined ? undefined : { path: ROOT + source };
    });
  },
};
