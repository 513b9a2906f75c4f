import type { APIPromise } from './api-promise.ts'
import { requestFile, requestJson } from './request.ts'
import type { ArtifactResponse } from './schemas.ts'
import type { RequestOptions, Transport } from './transport.ts'

/** `client.artifacts` */
export class Artifacts {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** What the artifact is, with a link to its bytes (`data.download_url`) that works without a key for 15 minutes. */
  retrieve(artifact_uid: string, options?: RequestOptions): APIPromise<ArtifactResponse> {
    const path = ['agent', 'artifacts', artifact_uid]
    return requestJson(this.#transport, { method: 'GET', path }, options)
  }

  /**
   * The bytes of the artifact, unread, so that large ones can be streamed: `await (await download(uid)).blob()`. The signed
   * link is asked without the key.
   */
  async download(artifact_uid: string, options?: RequestOptions): Promise<Response> {
    const { data } = await this.retrieve(artifact_uid, options)
    return requestFile(this.#transport, { link: data.download_url }, options)
  }
}
