import { OF_POSTGRES } from "../../describe-store.js";
import { describePool } from "../../postgres/conformance.js";
import { EMBEDDED } from "../../postgres/engines.js";

/** It meets the other topics in test/engines/postgres. */
describePool("postgres", EMBEDDED, { differsIn: OF_POSTGRES });
