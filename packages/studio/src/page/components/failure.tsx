import type { ComponentChildren } from "preact";
import type { ApiError } from "../api-client.js";
import { Icon } from "./icons.js";
/** A failed request, with a button to try again. */
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

/** Stands where there is nothing to show, and says what to do. */
export function Empty({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children && <div class="empty-hint">{children}</div>}
    </div>
  );
}

const WIDTHS = ["72%", "94%", "58%", "86%", "66%", "90%"];

/** Grey lines in the place of what is on its way. */
export function Loading() {
  return (
    <div class="loading" role="status" aria-label="Loading">
      {WIDTHS.map((width) => (
        <span key={width} class="loading-line" style={{ width }} />
      ))}
    </div>
  );
}
