export {
  type DurableObjectContext,
  type DurableObjectCursor,
  type DurableObjectOptions,
  type DurableObjectSqlStorage,
  durableObject,
} from "@stemma/store/durable-object";
