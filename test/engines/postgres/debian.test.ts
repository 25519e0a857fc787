import { OF_ENGINES, OF_POSTGRES } from "../../describe-store.js";
import { describePool } from "../../postgres/conformance.js";
import { DEBIAN } from "../../postgres/engines.js";

describePool("debian", DEBIAN, { differsIn: [...OF_POSTGRES, ...OF_ENGINES, "learned facts"] });
