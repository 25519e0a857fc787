import { describePool } from "./conformance.js";
import { EMBEDDED } from "./engines.js";

describePool("postgres", EMBEDDED);
