interface Size {
  /** About as many as its JSON has. */
  bytes: number
  depth: number
  objects: number
}

interface Limits {
  bytes: number
  depth: number
  objects: number
}

/** How large a JSON value is. Stops counting once a limit is passed, and copies nothing. */
export function measureJson(value: unknown, most?: Limits): Size {
  const size: Size = { bytes: 0, depth: 0, objects: 0 }
  const isOver = () =>
    most !== undefined && (size.bytes > most.bytes || size.depth > most.depth || size.objects > most.objects)
  const add = (item: unknown, depth: number): void => {
    if (isOver()) return
    size.bytes += typeof item === 'string' ? Buffer.byteLength(item) + 3 : 5
    if (typeof item !== 'object' || item === null) return
    size.depth = Math.max(size.depth, depth)
    if (Array.isArray(item)) {
      for (const inner of item) {
        if (isOver()) return
        add(inner, depth + 1)
      }
      return
    }
    size.objects += 1
    for (const [key, inner] of Object.entries(item)) {
      if (isOver()) return
      size.bytes += Buffer.byteLength(key) + 3
      add(inner, depth + 1)
    }
  }
  add(value, 1)
  return size
}
