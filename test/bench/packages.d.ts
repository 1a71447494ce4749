// What the benchmark calls of packages that only it installs.
declare module "*?url" {
  const url: string
  export default url
}
declare module "*?url&no-inline" {
  const url: string
  export default url
}
declare module "sqlocal" {
  export class SQLocal {
    constructor(path: string)
    sql: (sql: string, ...params: unknown[]) => Promise<Record<string, unknown>[]>
    batch: (statements: () => { sql: string; params: unknown[] }[]) => Promise<unknown>
  }
}
declare module "wa-sqlite" {
  interface Api {
    vfs_register(vfs: object, isDefault: boolean): number
    open_v2(name: string): Promise<number>
    statements(db: number, sql: string): AsyncIterable<number>
    bind_collection(statement: number, params: unknown[]): number
    step(statement: number): Promise<number> | number
    reset(statement: number): Promise<number> | number
    column_names(statement: number): string[]
    row(statement: number): unknown[]
  }
  export function Factory(module: object): Api
}
declare module "wa-sqlite/dist/wa-sqlite.mjs" {
  export default function (config: { locateFile(): string }): Promise<object>
}
declare module "wa-sqlite/src/examples/AccessHandlePoolVFS.js" {
  export class AccessHandlePoolVFS {
    constructor(directory: string)
    readonly isReady: Promise<void>
  }
}
declare module "@journeyapps/wa-sqlite" {
  export { Factory } from "wa-sqlite"
}
declare module "@journeyapps/wa-sqlite/dist/wa-sqlite.mjs" {
  export default function (config: { locateFile(): string }): Promise<object>
}
declare module "@journeyapps/wa-sqlite/src/examples/OPFSWriteAheadVFS.js" {
  export class OPFSWriteAheadVFS {
    static create(name: string, module: object): Promise<object>
  }
}
declare module "@powersync/web" {
  export class Schema {
    constructor(tables: object)
  }
  export const WASQLiteVFS: { readonly OPFSWriteAheadVFS: string }
  export class PowerSyncDatabase {
    constructor(options: { schema: Schema; database: { dbFilename: string; vfs: string } })
    execute(sql: string, params?: unknown[]): Promise<unknown>
    executeBatch(sql: string, params: unknown[][]): Promise<unknown>
    getAll<T>(sql: string, params?: unknown[]): Promise<T[]>
  }
}
declare module "@electric-sql/pglite" {
  export class PGlite {
    constructor(options: { dataDir: string })
  }
}
declare module "@electric-sql/pglite/worker" {
  interface Queries {
    query<T>(sql: string, params?: unknown[]): Promise<{ rows: T[] }>
  }
  export class PGliteWorker {
    static create(
      worker: Worker,
    ): Promise<Queries & { transaction(work: (tx: Queries) => Promise<void>): Promise<void> }>
  }
  export function worker(options: { init(): Promise<object> }): void
}
declare module "@tursodatabase/database-wasm/vite" {
  interface Prepared {
    run(...params: unknown[]): Promise<unknown>
    all(...params: unknown[]): Promise<unknown[]>
    get(...params: unknown[]): Promise<unknown>
  }
  export function connect(path: string): Promise<{ exec(sql: string): Promise<void>; prepare(sql: string): Prepared }>
}
