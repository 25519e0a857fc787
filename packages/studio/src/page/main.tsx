import { render } from "preact";
import { App } from "./app.js";
import { applyTheme } from "./hooks/use-theme.js";
import { followLinks } from "./location.js";

applyTheme();
followLinks();
const root = document.createElement("div");
root.className = "app";
document.body.append(root);
render(<App />, root);
