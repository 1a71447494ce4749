/**
 * The exports of sqlite3.wasm that are called directly: 8 to 17 ns a call where the package's own wrappers take
 * ten times that. Pointers are numbers (wasm32), `int` and `double` numbers, `sqlite3_int64` bigint.
 */
export interface SqliteExports {
  sqlite3_malloc(bytes: number): number
  sqlite3_free(pointer: number): void
  sqlite3_open_v2(name: number, dbOut: number, flags: number, vfs: number): number
  sqlite3_close_v2(db: number): number
  sqlite3_exec(db: number, sql: number, callback: number, arg: number, errorOut: number): number
  sqlite3_errmsg(db: number): number
  sqlite3_extended_errcode(db: number): number
  sqlite3_get_autocommit(db: number): number
  sqlite3_last_insert_rowid(db: number): bigint
  sqlite3_set_last_insert_rowid(db: number, rowid: bigint): void
  sqlite3_changes64(db: number): bigint
  sqlite3_total_changes64(db: number): bigint
  sqlite3_create_function_v2(
    db: number,
    name: number,
    args: number,
    flags: number,
    data: number,
    call: number,
    step: number,
    final: number,
    destroy: number,
  ): number
  sqlite3_user_data(context: number): number
  sqlite3_context_db_handle(context: number): number
  sqlite3_result_int64(context: number, value: bigint): void
  sqlite3_set_authorizer(db: number, callback: number, arg: number): number
  sqlite3_progress_handler(db: number, opcodes: number, callback: number, arg: number): void
  sqlite3__wasm_db_config_ip(db: number, option: number, value: number, out: number): number
  sqlite3_prepare_v3(
    db: number,
    sql: number,
    bytes: number,
    flags: number,
    statementOut: number,
    tailOut: number,
  ): number
  sqlite3_step(statement: number): number
  sqlite3_finalize(statement: number): number
  sqlite3_stmt_readonly(statement: number): number
  sqlite3_reset(statement: number): number
  sqlite3_stmt_explain(statement: number, mode: number): number
  sqlite3_stmt_isexplain(statement: number): number
  sqlite3_bind_parameter_count(statement: number): number
  sqlite3_bind_null(statement: number, index: number): number
  sqlite3_bind_int64(statement: number, index: number, value: bigint): number
  sqlite3_bind_double(statement: number, index: number, value: number): number
  sqlite3_bind_text(statement: number, index: number, text: number, bytes: number, destructor: number): number
  sqlite3_bind_blob(statement: number, index: number, blob: number, bytes: number, destructor: number): number
  sqlite3_bind_zeroblob(statement: number, index: number, bytes: number): number
  sqlite3_column_count(statement: number): number
  sqlite3_column_name(statement: number, index: number): number
  sqlite3_column_type(statement: number, index: number): number
  sqlite3_column_int64(statement: number, index: number): bigint
  sqlite3_column_double(statement: number, index: number): number
  sqlite3_column_text(statement: number, index: number): number
  sqlite3_column_blob(statement: number, index: number): number
  sqlite3_column_bytes(statement: number, index: number): number
}
