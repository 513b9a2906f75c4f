import { useEffect } from 'react'
import { BASE_PATH } from '../client.ts'
import { Button, buttonClass } from './button.tsx'

/** What is shown in place of a page that failed. Both ways out load everything anew, since anything may be broken. */
export function Crash() {
  useEffect(() => {
    document.title = 'Something went wrong · Runyard'
  }, [])
  return (
    <div role="alert" className="py-12">
      <h1 className="m-0 font-semibold text-xl">Something went wrong on this page</h1>
      <p className="mt-2 mb-4 text-soft">
        This is a fault of the page. Your runs go on. The browser's console has the details, which are sent to
        nobody.
      </p>
      <p className="m-0 flex flex-wrap items-center gap-3">
        <a className={buttonClass('primary')} href={BASE_PATH}>
          All runs
        </a>
        <Button onClick={() => location.reload()}>Reload</Button>
      </p>
    </div>
  )
}
