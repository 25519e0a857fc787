export { type RemoteOptions, remote } from "@stemma/client/remote";
export type { ErrorCode } from "@stemma/model";
export { StemmaError } from "@stemma/model";
export type { Store } from "@stemma/store";
