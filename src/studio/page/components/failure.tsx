import type { ApiError } from "../api-client.js";
import { Icon } from "./icons.js";

/** What went wrong, with a way to try again. */
export function Failure({ error, retry }: { readonly error: ApiError; readonly retry?: (() => void) | undefined }) {
  return (
    <div class="failure" role="alert">
      <Icon name="warning" />
      <p>
        {error.message} <code>{error.code}</code>
      </p>
      {retry && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}
