// The suite of REST as it is, for whoever said by `openWith` which stores it runs on.
import "../../packages/server/test/quick/rest-again.test.js";
import "../../packages/server/test/quick/rest-attacks.test.js";
import "../../packages/server/test/quick/rest-changes.test.js";
import "../../packages/server/test/slow/rest-matrix.test.js";
import "../../packages/server/test/quick/rest-memory.test.js";
import "../../packages/server/test/quick/rest-messages.test.js";
import "../../packages/server/test/quick/rest-property.test.js";
import "../../packages/server/test/quick/rest-records.test.js";
import "../../packages/server/test/quick/rest-sessions.test.js";
import "../../packages/server/test/quick/rest-trees.test.js";
import "../../packages/server/test/quick/rest-turns.test.js";
