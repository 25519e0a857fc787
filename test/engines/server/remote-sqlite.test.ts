import { ALL, describeStore } from "../../describe-store.js";
import { lossy, OF_LOSSES } from "../../server/remote-losses.js";
import { remoteTarget } from "../../server/remote-target.js";
import { sqliteTarget } from "../../store/sqlite-target.js";

if (ALL) describeStore("sqlite", remoteTarget(sqliteTarget("SQLite")));

const target = sqliteTarget("SQLite, two servers, with losses");

describeStore("sqlite", remoteTarget(target, lossy(target.name), target.reopen), OF_LOSSES);
