import { redirect } from "next/navigation";

export const dynamic = "force-dynamic";

/** A new chat. */
export default function Page() {
  redirect(`/${crypto.randomUUID()}`);
}
