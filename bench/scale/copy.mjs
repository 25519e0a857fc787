// Makes a store on Postgres larger by copying its sessions inside the database, under other ids. Of each session the copy has the
// rows that the same appends would have left: with a number of its own, as the registry gives one to a new session, rows that
// are numbered after it, and the time of the copy.
const SPAN = 2n ** 28n;
/** What the registry gives by itself to each new session. */
const GIVEN = ["no", "registered"];
const REGISTRY = "assistant_sessions";

/** Copies the sessions `s0`, `s1` … below `s<count>` until there are `total` of them. */
export async function copySessions(pool, count, total) {
  const tables = await tablesOf(pool, count);
  const client = await pool.connect();
  try {
    await client.query("SET maintenance_work_mem = '512MB'; SET work_mem = '256MB'");
    const restore = await dropIndexes(client, [REGISTRY, ...tables.map(({ name }) => name)]);
    for (let shift = count; shift < total; shift += count) {
      const those = Math.min(count, total - shift);
      await client.query(await registrySql(client, shift, those));
      for (const table of tables) await client.query(rowsSql(table, shift, those));
    }
    for (const statement of restore) await client.query(statement);
    await client.query("VACUUM ANALYZE");
    await verifyCounts(client, tables, count, total);
  } finally {
    client.release();
  }
}

const placeOf = (session) => `substr(${session}.id, 2)::bigint`;
const isCopied = (session, count) => `${session}.id ~ '^s[0-9]+$' AND ${placeOf(session)} < ${count}`;

/** The tables in which those sessions have rows, with their columns. */
async function tablesOf(pool, count) {
  const { rows } = await pool.query(
    `SELECT c.table_name AS name, array_agg(c.column_name::text ORDER BY c.ordinal_position) AS columns,
       array_agg(c.data_type::text ORDER BY c.ordinal_position) AS types, bool_or(c.is_identity = 'YES') AS numbered
     FROM information_schema.columns c WHERE c.table_schema = current_schema() AND c.table_name <> '${REGISTRY}'
     GROUP BY c.table_name HAVING bool_or(c.column_name = 'session_id')`,
  );
  const found = [];
  for (const table of rows) {
    const any = await pool.query(
      `SELECT FROM ${table.name} t JOIN ${REGISTRY} s ON s.id = t.session_id WHERE ${isCopied("s", count)} LIMIT 1`,
    );
    if (any.rowCount === 0) continue;
    if (table.numbered) throw new Error(`Rows of ${table.name} cannot be copied: the table numbers them itself.`);
    found.push(table);
  }
  return found;
}

// Drops the indexes and keys of tables, and gives the statements that make them again.
async function dropIndexes(client, tables) {
  const { rows } = await client.query(
    `SELECT i.indrelid::regclass::text AS table, i.indexrelid::regclass::text AS name, c.conname AS key,
       coalesce(pg_get_constraintdef(c.oid), pg_get_indexdef(i.indexrelid)) AS definition
     FROM pg_index i LEFT JOIN pg_constraint c ON c.conindid = i.indexrelid AND c.contype IN ('p', 'u')
     WHERE i.indrelid = ANY ($1::regclass[])`,
    [tables],
  );
  for (const { table, name, key } of rows) {
    await client.query(key === null ? `DROP INDEX ${name}` : `ALTER TABLE ${table} DROP CONSTRAINT ${key}`);
  }
  return rows.map(({ table, key, definition }) =>
    key === null ? definition : `ALTER TABLE ${table} ADD CONSTRAINT ${key} ${definition}`,
  );
}

async function registrySql(client, shift, count) {
  const { rows } = await client.query(
    "SELECT column_name AS name, data_type AS type FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = $1",
    [REGISTRY],
  );
  const columns = rows.filter(({ name }) => !GIVEN.includes(name));
  const copied = ({ name, type }) => {
    if (name === "id" || name === "name") return `'s' || (${placeOf("s")} + ${shift})`;
    return type.startsWith("timestamp") ? `s.${name} - s.created_at + s.now` : `s.${name}`;
  };
  return `INSERT INTO ${REGISTRY} (${columns.map(({ name }) => name).join(", ")})
    SELECT ${columns.map(copied).join(", ")}
    FROM (SELECT s.*, clock_timestamp() AS now FROM ${REGISTRY} s WHERE ${isCopied("s", count)} ORDER BY ${placeOf("s")}) AS s`;
}

function rowsSql({ name, columns, types }, shift, count) {
  const values = columns.map((column, index) => {
    if (column === "session_id") return "c.id";
    if (column === "no") return "c.no";
    // A row's number is its session's, and then its own in the session; 0 and none are numbers of no row.
    if (/^(n|.*_n|lo)$/.test(column)) {
      return `CASE WHEN t.${column} >= ${SPAN} THEN t.${column} + (c.no - s.no) * ${SPAN} ELSE t.${column} END`;
    }
    return types[index].startsWith("timestamp") ? `t.${column} - s.created_at + c.created_at` : `t.${column}`;
  });
  return `INSERT INTO ${name} (${columns.join(", ")}) SELECT ${values.join(", ")}
    FROM ${name} t JOIN ${REGISTRY} s ON s.id = t.session_id JOIN ${REGISTRY} c ON c.id = 's' || (${placeOf("s")} + ${shift})
    WHERE ${isCopied("s", count)} ORDER BY c.created_at, t.n`;
}

async function verifyCounts(client, tables, count, total) {
  for (const { name } of tables) {
    const { rows } = await client.query(
      `SELECT count(*) FILTER (WHERE ${placeOf("s")} < ${count})::float8 AS original, count(*)::float8 AS all
       FROM ${name} t JOIN ${REGISTRY} s ON s.id = t.session_id WHERE ${isCopied("s", total)}`,
    );
    const [{ original, all }] = rows;
    if (all !== (original * total) / count)
      throw new Error(`${name} has ${all} rows, of ${original} that were copied.`);
  }
}
