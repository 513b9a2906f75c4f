import { useEffect } from 'react'

/** Frames that a page gets to draw what is asked. */
const MOST_FRAMES = 30

/**
 * Moves the keyboard to what the run asks, unless it is in use elsewhere: to the first answer or the call to allow
 * (`data-asks`), else to the field for messages. `asked`: changes with each question; undefined while none is open.
 */
export function useFocusOnQuestion(asked: string | undefined): void {
  useEffect(() => {
    if (asked === undefined) return
    let frames = 0
    let frame = 0
    const look = () => {
      if (document.activeElement !== document.body) return
      const found = document.querySelector<HTMLElement>('[data-asks]')
      frames += 1
      if (!found && frames < MOST_FRAMES) frame = requestAnimationFrame(look)
      else (found ?? document.getElementById('composer'))?.focus({ preventScroll: true })
    }
    frame = requestAnimationFrame(look)
    return () => cancelAnimationFrame(frame)
  }, [asked])
}
