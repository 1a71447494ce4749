export { createWebSocket, type SocketService } from "./create-web-socket.ts"
export { type InstallOptions, install } from "./install.ts"
