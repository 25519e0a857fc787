// The calls over HTTP: as a program makes them with `fetch`, one after the other.

/** A message of 330 characters of JSON. */
export function messageOf(id) {
  const message = { id, role: "user", parts: [{ type: "text", text: "" }] };
  const words = `The ferry to the island of ${id} leaves at nine and comes back in the evening. `.repeat(5);
  message.parts[0].text = words.slice(0, 330 - JSON.stringify(message).length);
  return message;
}

/** Functions that each send one request and read its answer as JSON. */
export function callsOf({ url, key }) {
  const authorization = `Bearer ${key}`;
  let number = 0;
  const send = async (path, init) => {
    const response = await fetch(url + path, init);
    const answer = await response.json();
    if (!response.ok) throw new Error(`${path}: ${JSON.stringify(answer)}`);
    return answer;
  };
  return {
    append:
      (session, headers = {}) =>
      () => {
        number += 1;
        const body = JSON.stringify({ messages: [messageOf(`n${number}`)] });
        const all = { authorization, "content-type": "application/json", ...headers };
        return send(`/v1/sessions/${session}/messages`, { method: "POST", headers: all, body });
      },
    /** The same, with a key for each. */
    appendOnce(session) {
      return () => this.append(session, { "idempotency-key": `k${number}` })();
    },
    newest: (session, limit) => () =>
      send(`/v1/sessions/${session}/messages?order=desc&limit=${limit}`, { headers: { authorization } }),
  };
}
