import { h } from "../dom.ts"

/** Asks before something that can't be undone. Escape and the first button are no. */
export function ask(question: string, consequence: string, yes: string): Promise<boolean> {
  const dialog = h(
    "dialog",
    { "aria-label": question },
    h(
      "form",
      { method: "dialog" },
      h("h2", {}, question),
      h("p", {}, consequence),
      h(
        "div",
        { class: "bar" },
        h("button", { value: "no", autofocus: true }, "Keep it"),
        h("button", { value: "yes", class: "danger" }, yes),
      ),
    ),
  )
  document.body.append(dialog)
  dialog.showModal()
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove()
      resolve(dialog.returnValue === "yes")
    })
  })
}
