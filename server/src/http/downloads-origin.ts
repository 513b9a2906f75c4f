import type { FastifyInstance, FastifyRequest } from 'fastify'
import { AppError } from '../contract/error.ts'

interface Origins {
  readonly public_url: string
  readonly downloads_url: string
}

/**
 * Where downloads have an origin of their own, nothing else is served there: whatever a browser made of a file, it would find no
 * page, no cookie and no API beside it. Elsewhere no file is opened: who follows a link there is sent on. Only what the page reads
 * for itself stays, which its policy keeps to its own origin, and which browsers do not open.
 */
export function separateDownloads(app: FastifyInstance, settings: Origins): void {
  app.addHook('onRequest', async (request, reply) => {
    if (settings.downloads_url === settings.public_url) return
    // By its route: `/%64ownloads/` leads to the same one.
    const is_download = [request.routeOptions.url, request.url].some((path) =>
      path?.startsWith('/downloads/'),
    )
    if (isDownloadsHost(request.host, settings)) {
      if (!is_download)
        throw new AppError('resource_not_found', 'This address is only for downloading files.')
    } else if (is_download && !isReadByPage(request))
      return reply.redirect(settings.downloads_url + request.url, 302)
  })
}

export const isDownloadsHost = (host: string, { downloads_url }: Pick<Origins, 'downloads_url'>): boolean =>
  host.toLowerCase().replace(/:\d+$/, '') === new URL(downloads_url).hostname

/** Browsers alone send these, and no page can change them (https://www.w3.org/TR/fetch-metadata/). */
const isReadByPage = ({ headers }: FastifyRequest): boolean =>
  headers['sec-fetch-site'] === 'same-origin' &&
  (headers['sec-fetch-dest'] === 'empty' || headers['sec-fetch-dest'] === 'image')
