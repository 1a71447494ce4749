import { parseUrl, toSocketUrl } from "./socket-arguments.ts"

type SocketClass = typeof WebSocket

const hasInstance = Function.prototype[Symbol.hasInstance]

/**
 * A `WebSocket` whose sockets are `standIn`'s where `takes` says so, and otherwise
 * the very ones that `original` makes. Both are instances of it, it can be
 * extended, and a subclass may make both.
 */
export function patchedWebSocket(
  original: SocketClass,
  standIn: SocketClass,
  takes: (url: URL) => boolean,
): SocketClass {
  const ours = new WeakSet<object>()
  const isOurs = (given: unknown): boolean => {
    // What is no URL is for the original to refuse.
    const url = parseUrl(given)
    const socket = url && toSocketUrl(url)
    return socket !== undefined && takes(socket)
  }

  function WebSocket(...args: ConstructorParameters<SocketClass>): object {
    if (!new.target) return Reflect.apply(original, undefined, args)
    if (!isOurs(args[0])) {
      // Nothing of ours is in a plain original.
      return Reflect.construct(original, args, new.target === WebSocket ? original : new.target)
    }
    const socket: object = Reflect.construct(standIn, args, new.target)
    ours.add(socket)
    return socket
  }

  const prototype = Object.create(original.prototype, {
    ...membersByOwner(original.prototype, standIn.prototype, (socket) => ours.has(socket)),
    constructor: { value: WebSocket, writable: true, configurable: true },
  })
  Object.setPrototypeOf(WebSocket, Object.getPrototypeOf(original))
  Object.defineProperties(WebSocket, {
    ...Object.getOwnPropertyDescriptors(standIn),
    prototype: { value: prototype, writable: false },
    // A plain original has the original's prototype.
    [Symbol.hasInstance]: {
      value(this: unknown, value: unknown) {
        return this === WebSocket ? value instanceof original : hasInstance.call(this, value)
      },
    },
  })
  return WebSocket as unknown as SocketClass
}

/** The members of `mine`, each of which is `theirs` when it is used on an object that is not mine. */
function membersByOwner(theirs: object, mine: object, isMine: (value: object) => boolean): PropertyDescriptorMap {
  const members: PropertyDescriptorMap = Object.getOwnPropertyDescriptors(mine)
  for (const [name, own] of Object.entries(members)) {
    const pick = (value: object): PropertyDescriptor => (isMine(value) ? own : (descriptorOf(theirs, name) ?? own))
    const member = { ...own }
    if (own.get) {
      member.get = function (this: object) {
        return pick(this).get?.call(this)
      }
    }
    if (own.set) {
      member.set = function (this: object, value: unknown) {
        pick(this).set?.call(this, value)
      }
    }
    if (typeof own.value === "function") {
      member.value = function (this: object, ...args: unknown[]) {
        return Reflect.apply(pick(this).value, this, args)
      }
    }
    members[name] = member
  }
  return members
}

function descriptorOf(holder: object | null, name: string): PropertyDescriptor | undefined {
  for (let level = holder; level; level = Object.getPrototypeOf(level)) {
    const found = Object.getOwnPropertyDescriptor(level, name)
    if (found) return found
  }
  return undefined
}
