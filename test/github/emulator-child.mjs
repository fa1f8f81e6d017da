// @ts-check
/**
 * The process that hosts `emulate`: a foreign GitHub emulator has its own process, so that its
 * prototype patch below and its state touch nothing of the test's.
 */
import net from "node:net";
import { createEmulator } from "emulate";

// emulate binds all interfaces and has no option for the host; this process opens loopback only.
// oxlint-disable-next-line typescript/unbound-method -- it is called with its `this` below
const listen = net.Server.prototype.listen;
net.Server.prototype.listen = /** @type {typeof listen} */ (
  /** @this {net.Server} @param {unknown} port */
  function listenOnLoopback(port) {
    this.once("listening", () => {
      const address = this.address();
      process.send?.({ port: typeof address === "object" ? address?.port : undefined });
    });
    return Reflect.apply(listen, this, [Number(port), "127.0.0.1"]);
  }
);

process.on("disconnect", () => process.exit(0));
process.on("message", (message) => {
  const { baseUrl, seed } = /** @type {{ baseUrl: string, seed: object }} */ (message);
  void createEmulator({ service: "github", port: 0, baseUrl, seed: { ...seed } });
});
