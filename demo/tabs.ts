/** On a narrow screen one panel is seen at a time; the stylesheet shows the one that `panels` names. */
export function tabs(bar: HTMLElement, panels: HTMLElement): void {
  const buttons = [...bar.querySelectorAll<HTMLButtonElement>("button[data-panel]")]
  const show = (button: HTMLButtonElement) => {
    panels.dataset["shown"] = button.dataset["panel"] ?? ""
    for (const other of buttons) other.setAttribute("aria-pressed", String(other === button))
  }
  for (const button of buttons) button.addEventListener("click", () => show(button))
  if (buttons[0]) show(buttons[0])
}
