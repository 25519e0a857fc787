import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { SWRConfig } from "swr";
import { config } from "zod";
import { getJson } from "./api";
import { App } from "./app";
import "./styles/base.css";
import "./styles/layout.css";
import "./styles/side-bar.css";
import "./styles/chat.css";
import "./styles/markdown.css";
import "./styles/memory.css";
import "./styles/actions.css";

// The page's policy forbids to compile code, which zod would try.
config({ jitless: true });

createRoot(document.getElementById("root") as HTMLElement).render(
  <StrictMode>
    <SWRConfig value={{ fetcher: getJson }}>
      <App />
    </SWRConfig>
  </StrictMode>,
);
