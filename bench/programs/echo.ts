// A bare IPC child: answers each message at once with a result of the size of a real one.
const conditions = [{ type: "Ready", status: true, reason: "Done" }];
process.on("message", ({ id }: { id: number }) => {
  process.send?.({ id, kind: "settled", conditions });
});
process.once("disconnect", () => process.exit(0));
process.send?.({ kind: "ready" });
