import type { APIPromise } from './api-promise.ts'
import { WorkspaceFileList } from './lists.ts'
import { runPath } from './path.ts'
import { requestFile, requestJson } from './request.ts'
import type { ListWorkspaceFilesParams, WorkspaceFileParams, WorkspaceFileResponse } from './schemas.ts'
import type { RequestOptions, Transport } from './transport.ts'

/** `client.files`: the workspaces of runs, as their turns left them. For who may send the run a message; viewers may not. */
export class Files {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** What lies directly in a folder, by name; /workspace itself by default, as the last turn that is kept left it. */
  list(run_id: string, params: ListWorkspaceFilesParams = {}, options?: RequestOptions): WorkspaceFileList {
    return new WorkspaceFileList(this.#transport, { path: runPath(run_id, 'files'), query: params }, options)
  }

  /** What a file is, with a link to its bytes (`download_url`) that works without a key for 15 minutes. */
  retrieve(
    run_id: string,
    params: WorkspaceFileParams,
    options?: RequestOptions,
  ): APIPromise<WorkspaceFileResponse> {
    const call = { method: 'GET', path: runPath(run_id, 'file'), query: params } as const
    return requestJson(this.#transport, call, options)
  }

  /**
   * The bytes of a file, unread, so that large ones can be streamed: `await (await download(run_id, { path })).text()`. The
   * signed link is asked without the key.
   */
  async download(run_id: string, params: WorkspaceFileParams, options?: RequestOptions): Promise<Response> {
    const { download_url } = await this.retrieve(run_id, params, options)
    return requestFile(this.#transport, { link: download_url }, options)
  }
}
