export {
  bytesOfFile,
  findRealPath,
  ifThere,
  isHidden,
  listFiles,
  readText,
  whyNotWritten,
  within,
} from "./read-file.js";
export { codeOf, type FileContent, files, paths, replaceFile, syncDirectoryOf, writeDraft } from "./replace-file.js";
