import { useEffect, useState } from 'react'

const PAUSE_MS = 500

/** The text once nobody has typed for a moment: what is asked about it takes the service some work. */
export function useSettled(text: string): string {
  const [settled, setSettled] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [text])
  return settled
}
