export type PreviewKind = 'picture' | 'markdown' | 'text'

/** Larger files are downloaded: they would hold the page up. */
const MOST_PICTURE = 10_000_000
const MOST_TEXT = 1_000_000

/** What a browser draws without executing anything: in an image, an SVG runs no script and fetches nothing. */
const PICTURES = /^image\/(png|jpeg|gif|webp|avif|svg\+xml)$/
const TEXTS = /^(text\/|application\/(json|xml|yaml|toml|javascript|sql|x-sh)\b|[^;]+\+(json|xml)\b)/
const TEXT_NAMES =
  /\.(txt|log|csv|tsv|json|jsonl|ya?ml|toml|ini|xml|html?|css|[cm]?[jt]sx?|py|go|rs|rb|java|kt|c|h|cpp|sh|sql|diff|patch)$/i

/** How a file can be shown in the page; undefined where it can only be downloaded. */
export function previewOf({
  mime_type,
  filename,
  size_bytes,
}: {
  mime_type: string
  filename: string
  size_bytes: number
}): PreviewKind | undefined {
  const type = mime_type.toLowerCase()
  if (PICTURES.test(type)) return size_bytes <= MOST_PICTURE ? 'picture' : undefined
  if (size_bytes > MOST_TEXT) return undefined
  if (type.startsWith('text/markdown') || /\.(md|markdown)$/i.test(filename)) return 'markdown'
  return TEXTS.test(type) || TEXT_NAMES.test(filename) ? 'text' : undefined
}
