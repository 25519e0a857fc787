import { describePool } from "../../postgres/conformance.js";
import { DEBIAN } from "../../postgres/engines.js";

describePool("debian", DEBIAN);
