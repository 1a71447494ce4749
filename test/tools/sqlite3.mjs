import { spawnSync } from "node:child_process"
import { canInstallDebian, installDebian } from "./debian.mjs"

const isThere = () => spawnSync("sqlite3", ["--version"]).status === 0

/** Makes sure, where it can, that tests have a SQLite of somebody else's to ask. Without it they skip that, and say so. */
export function ensureSqlite3() {
  if (isThere() || !canInstallDebian()) return
  console.log("The sqlite3 command line is not here; installing Debian's package ...")
  installDebian("sqlite3")
}
