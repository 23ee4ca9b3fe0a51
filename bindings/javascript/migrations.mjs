// Migrations of D1 databases, in the table in which wrangler keeps them.
import { describeError } from "./errors.mjs";

/** Applies those of `files` ([name, statements]) that are new, each in one transaction with its name. */
export async function applyMigrations(database, table, files) {
  const applied = [];
  try {
    await database.prepare(CREATE(table)).run();
    const { results } = await database.prepare(`SELECT name FROM "${table}"`).all();
    const known = new Set(results.map(({ name }) => name));
    for (const [name, statements] of files.filter(([name]) => !known.has(name))) {
      const made = statements.map((statement) => database.prepare(statement));
      await database.batch([...made, database.prepare(`INSERT INTO "${table}" (name) VALUES (?)`).bind(name)]);
      applied.push(name);
    }
    return { applied };
  } catch (error) {
    return { applied, error: describeError(error) };
  }
}

const CREATE = (table) => `CREATE TABLE IF NOT EXISTS "${table}"(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT UNIQUE,
  applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL
)`;
