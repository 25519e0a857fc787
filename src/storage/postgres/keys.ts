/**
 * Gives a table the primary key that it should have. One that has these columns, and none that it should not have, stays: an owner
 * may put a tenant before them.
 */
export function primaryKey(table: string, columns: string, not = ""): string {
  const named = (names: string) =>
    `(SELECT count(*) FROM unnest(conkey) AS k (k) JOIN pg_attribute a ON a.attrelid = conrelid AND a.attnum = k
    WHERE a.attname = ANY ('{${names}}'))`;
  return `DO $$ DECLARE old TEXT; BEGIN
  SELECT conname INTO old FROM pg_constraint WHERE conrelid = '${table}'::regclass AND contype = 'p'
    AND (${named(columns)} < ${columns.split(",").length} OR ${named(not)} > 0);
  IF old IS NOT NULL THEN EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', '${table}'::regclass, old); END IF;
  IF NOT EXISTS (SELECT FROM pg_constraint WHERE conrelid = '${table}'::regclass AND contype = 'p') THEN
    ALTER TABLE ${table} ADD PRIMARY KEY (${columns});
  END IF;
END $$`;
}

/** Spreads new tables where tables are spread over servers; nothing elsewhere. */
export const SPREAD_NEW = `DO $$ BEGIN
  IF to_regprocedure('assistant_spread()') IS NOT NULL THEN PERFORM assistant_spread(); END IF;
END $$`;

/** True where a table lacks a column. */
export const lacks = (table: string, column: string): string => `NOT EXISTS (
    SELECT FROM pg_attribute WHERE attrelid = '${table}'::regclass AND attname = '${column}' AND NOT attisdropped)`;
