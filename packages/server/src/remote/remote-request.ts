import { check, defineFields, invalid, isJsonObject, parseTagged } from "@stemma/model";
import type { RemoteCall, RemoteRequest } from "@stemma/store";

/** As many calls as a request may have. */
const MOST_CALLS = 1_000;

const REQUEST = defineFields<RemoteRequest>({
  client: check.required(check.text),
  again: check.flag,
  batch: check.whole(0),
  calls: check.required(check.rule("a list of calls", Array.isArray)),
});

const CALL = defineFields<RemoteCall>({
  n: check.required(check.whole(0)),
  call: check.required(check.text),
  session: check.text,
  user: check.text,
  values: check.required(check.rule("a list", Array.isArray)),
  once: check.rule("an operation", isJsonObject),
  skip: check.whole(0),
});

const ONCE = defineFields<NonNullable<RemoteCall["once"]>>({ id: check.required(check.text), fingerprint: check.text });

/** The calls in the body of a request. Errors: `INVALID_ARGUMENT`. */
export function remoteRequestIn(body: string): RemoteRequest {
  const request = dataIn(body) as RemoteRequest;
  REQUEST.assert(request, "a request of calls");
  const { calls } = request;
  if (calls.length > MOST_CALLS) throw invalid(`A request has ${MOST_CALLS} calls at most.`);
  for (const call of calls) {
    CALL.assert(call, "a call");
    if (call.once !== undefined) ONCE.assert(call.once, "the operation of a call");
  }
  return request;
}

function dataIn(body: string): unknown {
  try {
    return parseTagged(body);
  } catch (cause) {
    // What is nested too deep overflows the stack.
    throw invalid("The body of the request must be tagged JSON.", {}, { cause });
  }
}
