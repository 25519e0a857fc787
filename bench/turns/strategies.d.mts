export function compareStrategies(
  stemma: object,
  conversations: object[],
  count: number,
): Promise<{ cache: string; strategy: string; cost: number; stale: number; answers: number }[]>;
