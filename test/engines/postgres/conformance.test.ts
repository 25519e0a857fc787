import { describePool } from "../../postgres/conformance.js";
import { EMBEDDED } from "../../postgres/engines.js";

describePool("postgres", EMBEDDED);
