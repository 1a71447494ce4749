import { AgentDBError } from "../wire/errors.ts"

/** Why a page has no service, or has it no more. */

export const closed = () => new AgentDBError("closed", "the service was closed")

export const putAway = () => new AgentDBError("disconnected", "this page was frozen or left; the outcome is unknown")

export const outdated = () =>
  new AgentDBError("failed_precondition", "another tab runs a newer version of this application; reload this page")

export const stillHeld = () =>
  new AgentDBError("unavailable", "another tab still holds the files of this service; it may be frozen")

export const noAnswer = () =>
  new AgentDBError("unavailable", "the tab that has the files of this service does not answer; it may be frozen")

export const inMemory = () =>
  new AgentDBError("failed_precondition", "another tab has opened the service in memory; the files are as they were")

export const cutOff = () =>
  new AgentDBError("failed_precondition", "the site data of this origin was cleared under this page; reload the page")
