/** The processor's time that this process has used, in ms: unlike the clock's, it does not grow with what else the machine does. */
export function cpuTime(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** The processor's time that work takes, in ms. */
export function cpuTimeOf(work: () => void): number {
  const before = cpuTime();
  work();
  return cpuTime() - before;
}
