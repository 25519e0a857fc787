export async function measureLangGraph() {
  return [];
}
