import { OF_POSTGRES } from "../../describe-store.js";
import { describePool } from "../../postgres/conformance.js";
import { EMBEDDED } from "../../postgres/engines.js";

describePool("postgres", EMBEDDED, { metElsewhere: OF_POSTGRES });
