/** Whole numbers from 0 on, in a column `x`. */
export const numbers = (count: number): string =>
  `WITH RECURSIVE c(x) AS (SELECT 0 UNION ALL SELECT x+1 FROM c LIMIT ${count}) SELECT x FROM c`

/** Rows of which each fills a ColumnBatch: a number, and bytes. */
export const wide = (count: number, batchBytes: number): string =>
  `WITH RECURSIVE c(x) AS (SELECT 0 UNION ALL SELECT x+1 FROM c LIMIT ${count}) SELECT x, zeroblob(${batchBytes}) FROM c`

/** Rows without end. */
export const endless = "WITH RECURSIVE c(x) AS (SELECT 0 UNION ALL SELECT x+1 FROM c) SELECT x FROM c"

/** Never ends by itself, and gives no row. */
export const runaway = "WITH RECURSIVE c(x) AS (SELECT 0 UNION ALL SELECT x+1 FROM c) SELECT sum(x) FROM c"
