import { Link } from '@tanstack/react-router'
import { BASE_URL } from '../client.ts'
import { CopyBlock } from '../ui/copy-block.tsx'

/** What an empty list says: the ways to start a run. */
export function FirstRun() {
  const curl = `curl -sS ${BASE_URL.href}api/v1/agent/runs \\
  -H "Authorization: Bearer $RUNYARD_API_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"prompt": "Say hello."}'`
  return (
    <section className="grid max-w-2xl gap-5 py-6">
      <p className="m-0 text-lg">No run yet. Three ways to start one:</p>
      <div>
        <h2 className="m-0 mb-1.5 font-semibold text-base">Here</h2>
        <p className="m-0 text-base">
          <Link to="/new">New run</Link> <span className="text-soft">(or press c)</span>
        </p>
      </div>
      <div>
        <h2 className="m-0 mb-1.5 font-semibold text-base">From the command line</h2>
        <CopyBlock text={'runyard run "Say hello."'} />
      </div>
      <div>
        <h2 className="m-0 mb-1.5 font-semibold text-base">Over HTTP</h2>
        <CopyBlock text={curl} />
      </div>
    </section>
  )
}
