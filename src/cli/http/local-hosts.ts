/** The hosts, each with its port, by which a server on this machine alone is reached. */
export function localHosts(port: number): string[] {
  return ["localhost", "127.0.0.1", "[::1]"].map((name) => `${name}:${port}`);
}
