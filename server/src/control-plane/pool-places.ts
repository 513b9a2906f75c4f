/** Places of a pool's workers that only dial out: no other worker means the same place, whatever it says. */
export const placeIn = (pool: string, place: string): string => `${prefixOf(pool)}${place}`

/** As its worker calls it; one of others is none of its own. */
export const placeOutOf = (pool: string, place: string): string =>
  place.startsWith(prefixOf(pool)) ? place.slice(prefixOf(pool).length) : `elsewhere ${place}`

const prefixOf = (pool: string): string => `pool ${pool}: `
