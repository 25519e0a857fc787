import { useState } from "preact/hooks";

export type Theme = "system" | "light" | "dark";

const NAME = "stemma-theme";

/** Shows the theme that was chosen last in this browser; "system" follows its settings. */
export function applyTheme(): void {
  const theme = chosenTheme();
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

/** The chosen theme, and what chooses another one. */
export function useTheme(): [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState(chosenTheme);
  const choose = (next: Theme) => {
    localStorage.setItem(NAME, next);
    applyTheme();
    setTheme(next);
  };
  return [theme, choose];
}

function chosenTheme(): Theme {
  const stored = localStorage.getItem(NAME);
  return stored === "light" || stored === "dark" ? stored : "system";
}
