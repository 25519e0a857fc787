// Many clients that append at once.

/** Each client appends to one session after the other, for some seconds. */
export async function appendAtOnce(append, { clients, sessions, seconds, name }) {
  const times = [];
  const counts = Array.from({ length: clients }, () => 0);
  const end = performance.now() + seconds * 1000;
  await Promise.all(
    counts.map(async (_, client) => {
      for (let turn = 0; performance.now() < end; turn += 1) {
        const session = (client * 61 + turn * 7) % sessions;
        const start = performance.now();
        await append(`s${session}`, messageOf(`${name}-${client}-${turn}`));
        times.push(performance.now() - start);
        counts[client] += 1;
      }
    }),
  );
  times.sort((a, b) => a - b);
  const at = (share) => times[Math.floor(share * (times.length - 1))];
  return {
    rate: times.length / seconds,
    p50: at(0.5),
    p99: at(0.99),
    least: Math.min(...counts),
    most: Math.max(...counts),
  };
}

export function messageOf(id) {
  const text = `Message ${id} says that the package of order ${id.length * 7919} was sent to the wrong place, and asks for another one.`;
  return { id, role: "user", parts: [{ type: "text", text }] };
}

export function median(list) {
  return [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];
}
