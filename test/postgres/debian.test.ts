import { describePool } from "./conformance.js";
import { DEBIAN } from "./engines.js";

describePool("debian", DEBIAN);
