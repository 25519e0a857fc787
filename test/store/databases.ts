import Database from "better-sqlite3";

/** A database as a user opens one to hand it to `sqlite()`. */
export function openDatabase(path = ":memory:"): Database.Database {
  const database = new Database(path);
  try {
    database.pragma("journal_mode = WAL");
    database.pragma("synchronous = OFF");
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}
