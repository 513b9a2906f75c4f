import { useParams } from '@tanstack/react-router'
import { RunPage } from './run-page.tsx'

export function RunRoute() {
  const { run_id } = useParams({ from: '/sessions/$run_id' })
  return <RunPage run_id={run_id} />
}
