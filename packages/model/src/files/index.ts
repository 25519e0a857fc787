export { findRealPath, isHidden, listFiles, readText, within } from "./confined.js";
export { bytesOfFile, ifThere, whyNotWritten } from "./read-file.js";
export { codeOf, type FileContent, files, paths, replaceFile, syncDirectoryOf, writeDraft } from "./replace-file.js";
