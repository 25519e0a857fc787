import { createSession } from "stemma/agent";
// app.ts
import { sessionStorage } from "./storage.js";

const session = await createSession({
  sessionStorage,
  // ...
});

// The test looks at it.
export { session };
