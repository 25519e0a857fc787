import { linkTo } from "../location.js";

/** Leads between the pages of one session. */
export function SessionTabs({ id, here }: { readonly id: string; readonly here: string }) {
  const tabs = [
    { path: "/session", name: "Conversation", query: { id } },
    { path: "/context", name: "Context", query: { id } },
    { path: "/memory", name: "Memory", query: { session: id } },
  ];
  return (
    <nav class="tabs" aria-label="Pages of the session">
      {tabs.map(({ path, name, query }) => (
        <a key={path} href={linkTo(path, query)} aria-current={path === here ? "page" : undefined}>
          {name}
        </a>
      ))}
    </nav>
  );
}
