import { type RequestOptions, requestJson, type Transport } from './request.ts'
import type { ArtifactResponse } from './schemas.ts'

/** `client.artifacts` */
export class Artifacts {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** What the artifact is, with a link to its bytes (`data.download_url`) that works without a key for 15 minutes. */
  retrieve(artifact_uid: string, options?: RequestOptions): Promise<ArtifactResponse> {
    const path = `/agent/artifacts/${encodeURIComponent(artifact_uid)}`
    return requestJson(this.#transport, { method: 'GET', path }, options)
  }
}
