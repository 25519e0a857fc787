/** The processor's time that work takes, in ms: unlike the clock's, it does not grow with what else the machine does. */
export function cpuTime(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
