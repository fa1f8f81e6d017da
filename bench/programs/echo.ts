// A bare IPC child: answers each pass at once with a result of the size of a real one.
process.on("message", (message: { id: number; kind: string }) => {
  process.send?.({ id: message.id, kind: "settled", conditions: [] });
});
process.once("disconnect", () => process.exit(0));
process.send?.({ id: 0, kind: "ready" });
