import { test } from "@playwright/test"
import { connect } from "agentdb-web/client"
import { createLinkPair } from "../../../src/link/memory-link.ts"
import { PortLink } from "../../../src/link/port-link.ts"
import type { Service } from "../../../src/server/service.ts"
import { runCase, token, type Way } from "../../client-suite/context.ts"
import { suite } from "../../client-suite/suite.ts"
import { TestService } from "../../fixtures/service.ts"

const pairs = {
  "an in-memory link": (service: Service) => {
    const [mine, theirs] = createLinkPair()
    service.accept(theirs)
    return mine
  },
  "a port": (service: Service) => {
    const { port1, port2 } = new MessageChannel()
    service.accept(new PortLink(port2))
    return new PortLink(port1)
  },
}

for (const [name, openLink] of Object.entries(pairs)) {
  const way: Way = {
    async start(limits) {
      const running = await TestService.start(limits)
      const { service, databaseId } = running
      return {
        databaseId,
        openLink: async () => openLink(service),
        connect: (tap, o) => connect({ token, ...o, databaseId, link: () => tap(openLink(service)) }),
        close: () => running[Symbol.asyncDispose](),
      }
    },
  }
  for (const group of suite) {
    test.describe(`over ${name}: ${group.name}`, () => {
      for (const item of group.cases) if (item.needs !== "worker") test(item.name, () => runCase(way, item))
    })
  }
}
