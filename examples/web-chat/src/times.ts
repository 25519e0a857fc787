const DAY = 24 * 3600 * 1000;

/** Today, Yesterday, or a date. */
export function dayOf(iso: string): string {
  const date = new Date(iso);
  const days = Math.round((midnight(new Date()) - midnight(date)) / DAY);
  if (days <= 0) return "Today";
  if (days === 1) return "Yesterday";
  return date.toLocaleDateString("en", { day: "numeric", month: "long", year: "numeric" });
}

/** The time of a message of today; the date of an older one. */
export function shortTime(iso: string): string {
  const date = new Date(iso);
  if (dayOf(iso) === "Today")
    return date.toLocaleTimeString("en", { hour: "2-digit", minute: "2-digit", hour12: false });
  return date.toLocaleDateString("en", { day: "numeric", month: "short" });
}

function midnight(date: Date): number {
  return new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime();
}
