export {
  type LocalModel,
  type LocalModelOptions,
  type LocalRerankerOptions,
  localModel,
  type ModelPrecision,
} from "./local-model.js";
