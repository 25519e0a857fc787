import { Chat } from "./chat";

export default async function Page({ params }: { params: Promise<{ chat: string }> }) {
  const { chat } = await params;
  return <Chat id={chat} />;
}
