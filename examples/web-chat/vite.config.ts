import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

export default defineConfig({
  plugins: [react()],
  // The linked package would otherwise bring the copies of its own folder.
  resolve: { dedupe: ["react", "react-dom", "@ai-sdk/react", "ai", "zod"] },
  build: { chunkSizeWarningLimit: 1000 },
  server: { proxy: { "/api": "http://localhost:3000" } },
});
