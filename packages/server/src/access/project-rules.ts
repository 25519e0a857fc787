import type { KeptWrite, NewSession } from "@stemma/store";
import { forbidden } from "./refusals.js";

type Metadata = Readonly<Record<string, unknown>>;
interface WithMetadata {
  readonly metadata?: Metadata | undefined;
}

/** The arguments of a call, narrowed to a project. Errors: `FORBIDDEN` where they say another one. */
type Rule = (values: readonly unknown[], project: string) => unknown[];

const asGiven: Rule = (values) => [...values];

/**
 * How calls that do not name all that they reach are narrowed to one project. Such a call that is not here is refused to a
 * principal of a project.
 */
export const PROJECT_RULES: Readonly<Record<string, Rule>> = {
  "sessions.create": ([session, ...rest], project) => [within(session as NewSession, project), ...rest],
  "sessions.update": (values, project) => [...assertWithin(values, values[1], project)],
  "sessions.fork": (values, project) => [...assertWithin(values, values[2], project)],
  "sessions.split": (values, project) => [...assertWithin(values, values[2], project)],
  "sessions.list": ([request, ...rest], project) => [narrowed(request, "metadata", project), ...rest],
  "session.importTree": ([tree], project) => [withSession(tree, project)],
  "store.search": ([query, request], project) => [query, narrowed(request, "sessionMetadata", project)],
  "store.writeTogether": (values, project) => {
    for (const each of values[0] as readonly KeptWrite[]) {
      if ("registered" in each && "change" in each) assertWithin(values, each.change, project);
    }
    return [...values];
  },
  "blocks.owners": asGiven,
  "records.now": asGiven,
  "vectors.model": asGiven,
  "store.migrate": asGiven,
};

/** A session that is written is the project's, whatever is left out. */
function within<T extends WithMetadata>(given: T, project: string): T {
  const named = given.metadata?.project;
  if (named !== undefined && named !== project) throw ofProject(project);
  return { ...given, metadata: { ...given.metadata, project } };
}

function assertWithin(values: readonly unknown[], given: unknown, project: string): readonly unknown[] {
  const { metadata } = (given ?? {}) as WithMetadata;
  if (metadata !== undefined && "project" in metadata && metadata.project !== project) throw ofProject(project);
  return values;
}

function withSession(tree: unknown, project: string): unknown {
  const { session, ...rest } = tree as { readonly session?: WithMetadata };
  return session === undefined ? rest : { ...rest, session: within(session, project) };
}

function narrowed(request: unknown, field: "metadata" | "sessionMetadata", project: string): unknown {
  const given = (request as Readonly<Record<string, Metadata | undefined>> | undefined)?.[field];
  if (given !== undefined && "project" in given && given.project !== project) throw ofProject(project);
  return { ...(request as object | undefined), [field]: { ...given, project } };
}

const ofProject = (project: string) => forbidden(`This key is of the project "${project}", and reaches no other.`);
