import { expect, test } from "@playwright/test"
import { placeOf } from "../../../src/standin/place.ts"

const sockets = (given: string, urls: string[]) => urls.filter((url) => placeOf(given).isSocket(new URL(url)))
const requests = (given: string, urls: string[]) => urls.filter((url) => placeOf(given).isTwirp(new URL(url)))

test("an http address and a ws one mean the same place", () => {
  for (const given of [
    "https://host.example",
    "wss://host.example/",
    "wss://HOST.example:443/db",
    "https://host.example/any#x",
  ]) {
    const place = placeOf(given)
    expect(place.dumps).toBe("https://host.example/dumps/")
    expect(place.isSocket(new URL("wss://host.example/db?token=x"))).toBe(true)
    expect(place.isTwirp(new URL("https://host.example/twirp/livekit.AgentDBService/GetDatabase"))).toBe(true)
  }
})

test("the path of a ws address is its socket's", () => {
  const urls = ["ws://host:7880/db", "ws://host:7880/agents/db", "ws://host:7880/agents", "ws://host/agents/db"]
  expect(sockets("ws://host:7880/agents/db", urls)).toEqual(["ws://host:7880/agents/db"])
  expect(sockets("ws://host:7880", urls)).toEqual(["ws://host:7880/db"])
})

test("scheme, host, port and path have to match", () => {
  expect(
    sockets("https://host.example", [
      "ws://host.example/db",
      "wss://other.example/db",
      "wss://host.example:8443/db",
      "wss://host.example/db/",
      "wss://host.example/",
    ]),
  ).toEqual([])
  expect(
    requests("https://host.example", [
      "http://host.example/twirp/x",
      "https://host.example/twirp",
      "https://host.example/other/twirp/x",
      "https://host.example:8443/twirp/x",
      "blob:https://host.example/twirp/x",
    ]),
  ).toEqual([])
})

test("any other address is a TypeError", () => {
  for (const given of ["ftp://host", "host.example", "", "http://["]) expect(() => placeOf(given)).toThrow(TypeError)
})
