import { getDocument, type PDFDocumentProxy, PDFWorker } from 'pdfjs-dist'
import { useEffect, useRef, useState } from 'react'
import { countOf } from '../text/format.ts'
import { plainText } from '../text/plain-text.ts'
import { Problem } from '../ui/problem.tsx'

/** Pages that are drawn. */
const MOST_PAGES = 20
const WIDTH_PX = 900
/** Of one page, however long it says that it is. */
const MOST_HEIGHT_PX = 2_400
/** Of one picture in it. */
const MOST_PIXELS = 25_000_000

/**
 * The pages of a PDF as pictures. It is read in a worker that may do nothing else: scripts, forms, links and attachments in it
 * have no place in a picture, and what it names elsewhere is not fetched.
 */
export function PdfPages({ data, name }: { data: ArrayBuffer; name: string }) {
  const [pdf, setPdf] = useState<PDFDocumentProxy>()
  const [error, setError] = useState<unknown>()
  useEffect(() => {
    setPdf(undefined)
    setError(undefined)
    const port = new Worker(new URL('pdfjs-dist/build/pdf.worker.min.mjs', import.meta.url), {
      type: 'module',
    })
    // A script that does not arrive never answers.
    port.onerror = () => setError('The code that reads it could not be loaded')
    const worker = PDFWorker.create({ port })
    const reading = getDocument({
      // The worker takes its bytes away from who gives them.
      data: data.slice(0),
      worker,
      ...{ enableXfa: false, useWasm: false, maxImageSize: MOST_PIXELS, verbosity: 0 },
      // A page whose picture is left out would look complete.
      stopAtErrors: true,
    })
    let is_over = false
    reading.promise.then(setPdf, (reason) => {
      if (!is_over) setError(reason)
    })
    return () => {
      is_over = true
      reading.destroy().finally(() => {
        worker.destroy()
        port.terminate()
      })
    }
  }, [data])
  if (error)
    return (
      <Problem
        error={new Error(`This PDF cannot be shown here: ${plainText(String(error))}. Download it instead.`)}
      />
    )
  if (!pdf) return <p className="m-0 text-soft">Loading…</p>
  const shown = Math.min(pdf.numPages, MOST_PAGES)
  return (
    <div className="grid justify-items-start gap-3">
      {Array.from({ length: shown }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: pages stay in their places.
        <PdfPage key={index} pdf={pdf} number={index + 1} name={name} />
      ))}
      {pdf.numPages > shown ? (
        <p className="m-0 text-soft">
          {countOf(pdf.numPages - shown, 'more page')}. Download the file to read the rest.
        </p>
      ) : null}
    </div>
  )
}

function PdfPage({ pdf, number, name }: { pdf: PDFDocumentProxy; number: number; name: string }) {
  const place = useRef<HTMLCanvasElement>(null)
  const [drawn, setDrawn] = useState<{ text: string; is_whole: boolean }>()
  useEffect(() => {
    let is_over = false
    const draw = async () => {
      const page = await pdf.getPage(number)
      const canvas = place.current
      if (is_over || !canvas) return { text: '', is_whole: false }
      const size = page.getViewport({ scale: 1 })
      const scale = Math.min(WIDTH_PX / size.width, MOST_HEIGHT_PX / size.height)
      const viewport = page.getViewport({ scale })
      canvas.width = Math.max(1, Math.floor(viewport.width))
      canvas.height = Math.max(1, Math.floor(viewport.height))
      await page.render({ canvas, viewport, annotationMode: 0 }).promise
      const { items } = await page.getTextContent()
      const text = items.map((item) => ('str' in item ? item.str : '')).join(' ')
      // A picture that could not be decoded is null, and a font that could not be read is the reason.
      const parts = [...page.objs, ...page.commonObjs].map(([, part]: unknown[]) => part)
      return { text, is_whole: !parts.some((part) => part === null || typeof part === 'string') }
    }
    draw()
      .catch(() => ({ text: '', is_whole: false }))
      .then((result) => {
        if (!is_over) setDrawn(result)
      })
    return () => {
      is_over = true
    }
  }, [pdf, number])
  return (
    <figure className="m-0 w-full" data-page={drawn?.is_whole ? number : undefined}>
      <canvas
        ref={place}
        role="img"
        aria-label={`Page ${number} of ${name}`}
        className="block h-auto max-w-full rounded-lg border border-line bg-white"
      />
      <figcaption>
        {drawn && !drawn.is_whole ? (
          <p className="mt-1.5 mb-0 text-sm text-wait">
            Page {number} could not be drawn completely. Download the file to see all of it.
          </p>
        ) : null}
        {/* For who hears the page. */}
        <span className="unseen">{plainText(drawn?.text ?? '')}</span>
      </figcaption>
    </figure>
  )
}
