/**
 * Groups of nodes that reach each other, each group after all that its edges lead to (Tarjan, without recursion).
 * @param edges from each node to others of the same map
 */
export function cycles(edges: ReadonlyMap<string, ReadonlySet<string>>): string[][] {
  const groups: string[][] = []
  const index = new Map<string, number>()
  const low = new Map<string, number>()
  const stack: string[] = []
  const stacked = new Set<string>()
  for (const root of edges.keys()) {
    if (index.has(root)) continue
    const path: { node: string; rest: Iterator<string> }[] = []
    const enter = (node: string) => {
      index.set(node, index.size)
      low.set(node, index.get(node) as number)
      stack.push(node)
      stacked.add(node)
      path.push({ node, rest: (edges.get(node) ?? new Set<string>()).values() })
    }
    const reach = (node: string, at: number) => low.set(node, Math.min(low.get(node) as number, at))
    enter(root)
    for (let top = path.at(-1); top; top = path.at(-1)) {
      const { node, rest } = top
      const next = rest.next()
      if (!next.done) {
        if (!index.has(next.value)) enter(next.value)
        else if (stacked.has(next.value)) reach(node, index.get(next.value) as number)
        continue
      }
      path.pop()
      const above = path.at(-1)
      if (above) reach(above.node, low.get(node) as number)
      if (low.get(node) !== index.get(node)) continue
      const group = stack.splice(stack.lastIndexOf(node))
      for (const member of group) stacked.delete(member)
      groups.push(group)
    }
  }
  return groups
}
