/**
 * What every answer is sent with unless its route says otherwise: not kept by proxies and browsers, not taken for another
 * type than it has, not framed, not acting as a page. Pages and downloads have rules of their own.
 */
export const ANSWER_HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
} as const
