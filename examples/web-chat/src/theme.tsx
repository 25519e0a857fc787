import { Monitor, Moon, Sun } from "lucide-react";
import { useEffect, useState } from "react";

const KEY = "theme";
const THEMES = ["system", "light", "dark"] as const;
type Theme = (typeof THEMES)[number];

const ICONS = { system: Monitor, light: Sun, dark: Moon };

/** Goes from the system's colours to light ones, dark ones, and back. */
export function ThemeButton() {
  const [theme, setTheme] = useState<Theme>(
    () => THEMES.find((each) => each === localStorage.getItem(KEY)) ?? "system",
  );
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
    localStorage.setItem(KEY, theme);
  }, [theme]);
  const Icon = ICONS[theme];
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? "system";
  return (
    <button type="button" className="icon" onClick={() => setTheme(next)} title={`Colours: ${theme}`}>
      <Icon aria-hidden />
      <span className="unseen">
        Colours: {theme}. Change to {next}.
      </span>
    </button>
  );
}
