import type { SkillRow } from "../../api.js";
import { useResource } from "../hooks/use-resource.js";

/** The skills that the session's model loaded, and those it unloaded. */
export function Skills({ session }: { readonly session: string }) {
  const { data } = useResource("session", { id: session });
  if (data === null) return null;
  const { loaded, unloaded } = data.skills;
  if (loaded.length === 0 && unloaded.length === 0) return null;
  return (
    <>
      <h2>Skills</h2>
      <ul>
        {loaded.map((skill) => row(skill, "loaded"))}
        {unloaded.map((skill) => row(skill, "unloaded"))}
      </ul>
    </>
  );
}

function row({ label, key }: SkillRow, state: "loaded" | "unloaded") {
  return (
    <li key={`${state} ${label} ${key}`} class="memory-row">
      <bdi>
        {label}: {key}
      </bdi>
      <span class={state === "loaded" ? "badge good" : "badge"}>{state}</span>
    </li>
  );
}
