import { readFileSync } from "node:fs";
import { defineConfig } from "vitepress";
import { GUIDE } from "../guide.mjs";

// TypeDoc writes the list of the reference's pages beside them.
const reference = JSON.parse(
  readFileSync(new URL("../.pages/reference/typedoc-sidebar.json", import.meta.url), "utf8"),
);

export default defineConfig({
  title: "Stemma",
  description: "Memory for TypeScript agents: conversations as trees, compaction, context blocks, search.",
  srcDir: ".pages",
  outDir: "dist",
  cleanUrls: true,
  lastUpdated: false,
  head: [["link", { rel: "icon", type: "image/svg+xml", href: "/logo.svg" }]],
  vite: { build: { chunkSizeWarningLimit: 2000 } },
  themeConfig: {
    logo: "/logo.svg",
    nav: [
      { text: "Guide", link: "/getting-started" },
      { text: "API", link: "/reference/" },
    ],
    sidebar: { "/reference/": reference, "/": GUIDE },
    search: { provider: "local" },
    outline: [2, 3],
  },
});
