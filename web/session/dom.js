// @ts-check

/**
 * Makes an element. Text goes in as text nodes: nothing a run prints ever becomes markup.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {string} class_name Empty for none.
 * @param {...(Node | string | null | undefined)} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function make(tag, class_name, ...children) {
  const element = document.createElement(tag)
  if (class_name) element.className = class_name
  for (const child of children) if (child !== null && child !== undefined) element.append(child)
  return element
}

/**
 * The element of the page with this id; the page has it, or the page is broken.
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId(id) {
  const element = document.getElementById(id)
  if (!element) throw new Error(`The page has no #${id}.`)
  return element
}

/**
 * A link to a page of somebody else; only its text where it is none of the web.
 * @param {string} address
 * @param {string} text
 */
export function makePageLink(address, text) {
  const url = URL.parse(address)
  if (url?.protocol !== 'https:' && url?.protocol !== 'http:') return make('span', '', text)
  const link = make('a', '', text)
  link.href = url.href
  link.rel = 'noopener noreferrer'
  return link
}

/**
 * A time of the log, as a local clock shows it; the whole date on hover.
 * @param {string} timestamp
 */
export function makeTime(timestamp) {
  const at = new Date(timestamp)
  const element = make('time', '', at.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' }))
  element.dateTime = timestamp
  element.title = at.toLocaleString()
  return element
}
