import { type AnyMessage, methods, type Stream } from '@agentclientprotocol/sdk'

/**
 * What an agent and we say to each other, without what the client would print to the log of the service, partly in the agent's
 * words: answers to no request of ours, and updates that are in no release of the protocol. `onUpdate` gets all of these.
 */
export function sortMessages({ readable, writable }: Stream, onUpdate: (params: unknown) => void): Stream {
  const asked = new Set<unknown>()
  const writer = writable.getWriter()
  const sort = new TransformStream<AnyMessage, AnyMessage>({
    transform(message, controller) {
      if ('method' in message && message.method === methods.client.session.update) onUpdate(message.params)
      else if ('method' in message || asked.delete(message.id)) controller.enqueue(message)
    },
  })
  return {
    readable: readable.pipeThrough(sort),
    writable: new WritableStream<AnyMessage>({
      write(message) {
        if ('method' in message && 'id' in message) asked.add(message.id)
        return writer.write(message)
      },
      close: () => writer.close(),
      abort: (reason) => writer.abort(reason),
    }),
  }
}
