import { type Theme, useTheme } from "../hooks/use-theme.js";
import { Icon, type IconName } from "./icons.js";

const NEXT: Readonly<Record<Theme, { readonly theme: Theme; readonly icon: IconName; readonly name: string }>> = {
  system: { theme: "light", icon: "system", name: "as the system" },
  light: { theme: "dark", icon: "sun", name: "light" },
  dark: { theme: "system", icon: "moon", name: "dark" },
};

/** Goes through the themes: as the system, light, dark. */
export function ThemeSwitch() {
  const [theme, choose] = useTheme();
  const { icon, name, theme: next } = NEXT[theme];
  const label = `Theme: ${name}. Change to ${NEXT[next].name}.`;
  return (
    <button type="button" class="quiet" title={label} aria-label={label} onClick={() => choose(next)}>
      <Icon name={icon} />
    </button>
  );
}
