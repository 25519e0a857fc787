export function readConversations(path?: string): object[];
