export type PreviewKind = 'picture' | 'pdf' | 'markdown' | 'text'

/** Larger files are downloaded: they would hold the page up. */
export const MOST_BYTES: Record<PreviewKind, number> = {
  ...{ picture: 10_000_000, pdf: 20_000_000, markdown: 1_000_000, text: 1_000_000 },
}

/** What a browser draws without executing anything: in an image, an SVG runs no script and fetches nothing. */
const PICTURES = /^image\/(png|jpeg|gif|webp|avif|svg\+xml)$/
const UNKNOWN = 'application/octet-stream'
const TEXTS = /^(text\/|application\/(json|xml|yaml|toml|javascript|sql|x-sh)\b|[^;]+\+(json|xml)\b)/
const TEXT_NAMES =
  /\.(txt|log|csv|tsv|json|jsonl|ya?ml|toml|ini|xml|html?|css|[cm]?[jt]sx?|py|go|rs|rb|java|kt|c|h|cpp|sh|sql|diff|patch)$/i

const PICTURE_NAMES: Record<string, string> = {
  ...{ png: 'image/png', jpg: 'image/jpeg', jpeg: 'image/jpeg', gif: 'image/gif', webp: 'image/webp' },
  ...{ avif: 'image/avif', svg: 'image/svg+xml' },
}

/** The kind of a file by its name alone. */
export const typeOfName = (filename: string): string =>
  PICTURE_NAMES[filename.slice(filename.lastIndexOf('.') + 1).toLowerCase()] ?? UNKNOWN

/** How a file can be shown in the page; undefined where it can only be downloaded. */
export function previewOf(file: {
  mime_type: string
  filename: string
  /** Undefined: it is known only when the file is opened. */
  size_bytes?: number
}): PreviewKind | undefined {
  const kind = kindOf(file)
  return kind && (file.size_bytes ?? 0) <= MOST_BYTES[kind] ? kind : undefined
}

function kindOf({ mime_type, filename }: { mime_type: string; filename: string }): PreviewKind | undefined {
  const type = mime_type.toLowerCase()
  if (PICTURES.test(type)) return 'picture'
  if (type.startsWith('application/pdf') || (type === UNKNOWN && /\.pdf$/i.test(filename))) return 'pdf'
  if (type.startsWith('text/markdown') || /\.(md|markdown)$/i.test(filename)) return 'markdown'
  return TEXTS.test(type) || TEXT_NAMES.test(filename) ? 'text' : undefined
}
