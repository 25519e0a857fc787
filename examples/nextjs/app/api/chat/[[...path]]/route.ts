import { after } from "next/server";
import { handler } from "../../../handler";

// An answer goes on when its reader leaves: `after` keeps a serverless function alive for that.
const route = (request: Request) => handler(request, { waitUntil: (work) => after(work) });

export { route as DELETE, route as GET, route as POST };
