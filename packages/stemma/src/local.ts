export {
  type LocalModel,
  type LocalModelOptions,
  type LocalRerankerOptions,
  localModel,
  type ModelPrecision,
} from "@stemma/local";
