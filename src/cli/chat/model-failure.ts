/** What of a failure of the AI SDK tells where it comes from. */
interface ApiFailure {
  readonly message: string;
  readonly url: string;
  /** Absent where no answer came. */
  readonly statusCode?: number | undefined;
}

/** Why a model did not answer, for the person at the terminal: what was asked where, and what to change. */
export function describeModelFailure(error: Error, modelName: string | null): string {
  const failure = apiFailureOf(error);
  if (failure === null) return error.message;
  const { statusCode, message } = failure;
  const place = new URL(failure.url).origin;
  if (statusCode === undefined) {
    const why = message.replace(/^Cannot connect to API: */u, "");
    return `nothing answers at ${place} (${why}). Is the server running, and is its address (--base-url) right?`;
  }
  if (statusCode === 404)
    return `${place} does not know the model "${modelName ?? ""}" (${message}). See --model and --base-url.`;
  if (statusCode === 401 || statusCode === 403)
    return `${place} refused the key (${message}). See the environment variable of the key.`;
  return message;
}

/** The failure of the last attempt. */
function apiFailureOf(error: unknown): ApiFailure | null {
  for (
    let at = error;
    typeof at === "object" && at !== null;
    at = Reflect.get(at, "lastError") ?? Reflect.get(at, "cause")
  ) {
    if ("url" in at && typeof at.url === "string" && URL.canParse(at.url) && "message" in at) return at as ApiFailure;
  }
  return null;
}
