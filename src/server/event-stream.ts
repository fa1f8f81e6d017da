import { createParser, type EventSourceMessage } from "eventsource-parser";
import { PiWorkflowsError, type ErrorJson } from "../model/errors.ts";

/** The JSON items of a stream of server-sent events, in order. */
export async function* parseEvents(body: AsyncIterable<Buffer>): AsyncGenerator<unknown> {
  let messages: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (message) => void messages.push(message) });
  const decoder = new TextDecoder();
  for await (const chunk of body) {
    parser.feed(decoder.decode(chunk, { stream: true }));
    const complete = messages;
    messages = [];
    for (const { event, data } of complete) {
      const item: unknown = JSON.parse(data);
      if (event === "error") throw PiWorkflowsError.fromJSON(item as ErrorJson);
      yield item;
    }
  }
}
