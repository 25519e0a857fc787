import { invalid } from "../errors.js";
import { assertKnownOptions, type OptionNames } from "../known-options.js";
import { assertFunction, assertText } from "../session/arguments.js";
import type { Awaitable } from "../session/provider.js";

/** What a request may see: nothing, everything, or what is one user's. */
export type StudioAccess = boolean | { readonly userId: string };

export interface StudioOptions {
  /**
   * Says what a request may see. True is everything, false is refused with 401. `{ userId }` is what that user has: sessions,
   * blocks and entries; blocks of keys, which users share, are not.
   */
  authorize: (request: Request) => Awaitable<StudioAccess>;
  /** May change what is stored. Default: it only reads. */
  write?: boolean | undefined;
  /** The path that the page stands under. Default `/studio`; `/` where it has a server of its own. */
  basePath?: string | undefined;
  /** The hosts, each with its port, that a request may name: others are refused. Default: any. */
  hosts?: readonly string[] | undefined;
  /** Gets each error that is a fault of the server or of the database. Default: nobody is told but the page, without details. */
  onError?: ((error: unknown) => void) | undefined;
}

/** Serves the studio: give it the requests to `basePath` and below. It never fails. */
export type Studio = (request: Request) => Promise<Response>;

const NAMES: OptionNames<StudioOptions> = {
  authorize: true,
  write: true,
  basePath: true,
  hosts: true,
  onError: true,
};

/** Throws `INVALID_ARGUMENT` for options that no studio can have. */
export function assertStudioOptions(options: StudioOptions): void {
  assertKnownOptions(options, "createStudio()", NAMES);
  const { authorize, basePath, hosts, onError } = options;
  if (authorize === undefined) {
    const message =
      "createStudio() needs authorize: (request) => boolean. Without it, whoever reaches the page would read every session.";
    throw invalid(message);
  }
  assertFunction(authorize, "authorize");
  if (onError !== undefined) assertFunction(onError, "onError");
  if (basePath !== undefined) assertText(basePath, "basePath");
  if (basePath !== undefined && !/^\/[\w\-./~]*$/.test(basePath)) {
    const message = "basePath must be a path as in URLs: it begins with / and holds letters, digits and - . _ ~ /.";
    throw invalid(message, { basePath });
  }
  if (hosts !== undefined && !(Array.isArray(hosts) && hosts.every((host) => typeof host === "string"))) {
    throw invalid("hosts must be an array of texts, such as localhost:4984.");
  }
}
