import { test } from "@playwright/test"
import { WebSocket } from "ws"
import { createLinkPair } from "../../../src/link/memory-link.ts"
import { PortLink } from "../../../src/link/port-link.ts"
import { SocketLink } from "../../../src/link/socket-link.ts"
import type { Service } from "../../../src/server/service.ts"
import { type Case, overLinks, runCase, type Way } from "../../client-suite/context.ts"
import { suiteTests } from "../../client-suite/suite-tests.ts"
import { nodeServices } from "../../fixtures/node-server.ts"
import { TestService } from "../../fixtures/service.ts"
import type { SuiteServices } from "../../fixtures/suite-services.ts"

const pairs = {
  "an in-memory link": (service: Service) => {
    const [mine, theirs] = createLinkPair()
    service.accept(theirs)
    return mine
  },
  "a MessagePort in Node": (service: Service) => {
    const { port1, port2 } = new MessageChannel()
    service.accept(new PortLink(port2))
    return new PortLink(port1)
  },
}

const cannot = ({ needs }: Case) =>
  needs === "worker"
    ? "the service is on the client's own thread, so what keeps it busy keeps the client busy too"
    : undefined

for (const [name, openLink] of Object.entries(pairs)) {
  const way: Way = {
    async start(limits) {
      const running = await TestService.start(limits)
      const { service, databaseId } = running
      return overLinks(
        databaseId,
        () => openLink(service),
        () => running[Symbol.asyncDispose](),
      )
    },
  }
  suiteTests(test, { name, cannot, run: (_group, item) => runCase(way, item) })
}

test.describe(() => {
  let services: SuiteServices
  test.beforeAll(() => {
    services = nodeServices()
  })
  test.afterAll(() => services.close())

  const way: Way = {
    async start(limits) {
      const { wsUrl, databaseId, close } = await services.database(limits)
      // Has all that a link uses of a browser's class.
      const open = () => new SocketLink(new WebSocket(wsUrl) as unknown as globalThis.WebSocket)
      return overLinks(databaseId, open, close)
    },
  }
  suiteTests(test, { name: "a WebSocket from Node to the Node server", run: (_group, item) => runCase(way, item) })
})
