import { OF_POSTGRES } from "../../describe-store.js";
import { describePool } from "../../postgres/conformance.js";
import { DEBIAN } from "../../postgres/engines.js";

// What a client does with connections and values is the same on every version of the server.
describePool("debian", DEBIAN, { differsIn: [...OF_POSTGRES, "learned facts", "migrations", "check"] });
