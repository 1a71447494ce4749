import { writeFile } from "node:fs/promises"
import { expect, test } from "@playwright/test"
import { AccessToken, type VideoGrant } from "livekit-server-sdk"
import { connectPeer, createDatabase, type NodeServer, startServer } from "../../fixtures/node-server.ts"
