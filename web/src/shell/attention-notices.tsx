import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { BASE_PATH, useAccess } from '../client.ts'
import { plainText } from '../text/plain-text.ts'
import { newTasks, type Task, tasksOf } from './new-tasks.ts'

const KEY = `runyard.notices ${BASE_PATH}`
const ASK_MS = 30_000
const MOST = 50

const isSupported = (): boolean => 'Notification' in window

function isWanted(): boolean {
  try {
    return isSupported() && Notification.permission === 'granted' && localStorage.getItem(KEY) === 'on'
  } catch {
    return false
  }
}

export interface Notices {
  is_on: boolean
  toggle: () => Promise<void>
}

/** Whether this browser may be asked to show notices. People change that while the page is open. */
export const canNotify = (): boolean => isSupported() && Notification.permission !== 'denied'

/** Whether this browser shows a notice when a run of one's own needs somebody. */
export function useNotices(): Notices {
  const [is_on, setOn] = useState(isWanted)
  const toggle = async () => {
    const wanted = !is_on && (await Notification.requestPermission()) === 'granted'
    try {
      localStorage.setItem(KEY, wanted ? 'on' : 'off')
    } catch {
      // It then lasts as long as this page.
    }
    setOn(wanted)
  }
  return { is_on, toggle }
}

/** Shows the notices, while any page of this service is open in a tab that nobody looks at. */
export function AttentionNotices() {
  const { client } = useAccess()
  const navigate = useNavigate()
  const { data: tasks } = useQuery({
    queryKey: ['runs', 'attention', 'notices'],
    queryFn: async ({ signal }) => {
      const { runs } = await client.runs.list(
        { needs_attention: true, creator: 'me', sort_by: 'updated_at', limit: MOST },
        { signal },
      )
      return tasksOf(runs)
    },
    refetchInterval: ASK_MS,
    refetchIntervalInBackground: true,
  })
  const before = useRef<readonly Task[]>(undefined)
  useEffect(() => {
    if (!tasks) return
    const found = before.current ? newTasks(before.current, tasks) : []
    before.current = tasks
    if (!document.hidden) return
    for (const { run_id, words, title } of found) {
      const notice = notify(`${words}: ${plainText(title)}`, run_id)
      if (!notice) return
      notice.onclick = () => {
        window.focus()
        navigate({ to: '/sessions/$run_id', params: { run_id } })
      }
    }
  }, [tasks, navigate])
  return null
}

/** Null where the browser has notices for other pages than this one alone, as on Android: then there are none. */
function notify(text: string, tag: string): Notification | null {
  try {
    return new Notification(text, { tag })
  } catch {
    return null
  }
}
