/** What the catalogs say of a schema's tables, in a form that does not depend on the version of the server. */
export const DEFINITIONS = `
  SELECT format('%s.%s %s%s%s%s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
           CASE WHEN a.attcollation NOT IN (0, t.typcollation) THEN ' COLLATE ' || a.attcollation::regcollation END,
           CASE WHEN a.attnotnull THEN ' NOT NULL' END,
           CASE WHEN a.attidentity <> '' THEN ' IDENTITY ' || a.attidentity::text
                ELSE ' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid) END) AS line
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
    WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'
  UNION ALL
  SELECT format('%s: %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid))
    FROM pg_constraint WHERE connamespace = current_schema()::regnamespace AND contype IN ('p', 'u', 'f', 'c')
  UNION ALL
  SELECT pg_get_indexdef(indexrelid) FROM pg_index JOIN pg_class c ON c.oid = indexrelid
    WHERE c.relnamespace = current_schema()::regnamespace
  UNION ALL
  SELECT format('%s(%s) %s', proname, pg_get_function_identity_arguments(oid), md5(prosrc))
    FROM pg_proc WHERE pronamespace = current_schema()::regnamespace
  UNION ALL
  SELECT pg_get_triggerdef(t.oid) FROM pg_trigger t JOIN pg_class c ON c.oid = tgrelid
    WHERE c.relnamespace = current_schema()::regnamespace AND NOT tgisinternal`;
