import { AgentDBError } from "agentdb-web/client"

export interface Choice {
  readonly file: File
  /** What was beside it, if that was chosen too. */
  readonly wal: File | undefined
}

/**
 * The database among files that somebody dropped or chose, with the log that belongs to it.
 * @throws AgentDBError `invalid_argument` if it is not one
 */
export function chosenOf(files: readonly File[]): Choice {
  const databases = files.filter(({ name }) => !/-(wal|shm|journal)$/.test(name))
  const [file, ...more] = databases
  if (!file) throw refused("choose the database's main file, with the -wal file beside it if there is one")
  if (more.length > 0) throw refused(`one database at a time: these are ${databases.length} files`)
  return { file, wal: files.find(({ name }) => name === `${file.name}-wal`) }
}

const refused = (message: string) => new AgentDBError("invalid_argument", message)

/** Calls `take` with files that are dropped on `zone`, and marks it while they are over it. */
export function onDrop(zone: HTMLElement, take: (files: File[]) => void): void {
  const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes("Files") === true
  // A file that misses the zone would replace the page.
  for (const type of ["dragover", "drop"] as const) {
    addEventListener(type, (event) => {
      if (!hasFiles(event)) return
      const isOver = event.target instanceof Node && zone.contains(event.target)
      if (event.dataTransfer) event.dataTransfer.dropEffect = isOver ? "copy" : "none"
      zone.toggleAttribute("data-over", isOver && type === "dragover")
      event.preventDefault()
      if (isOver && type === "drop") take([...(event.dataTransfer?.files ?? [])])
    })
  }
  addEventListener("dragleave", (event) => {
    if (event.relatedTarget === null) zone.removeAttribute("data-over")
  })
}
