import { constants, createZstdCompress, createZstdDecompress } from 'node:zlib'

const LEVEL = 3
/** 8 MiB of memory for each that is read; this level writes for 2 MiB. */
const WINDOW_LOG = 23

export const compress = () =>
  createZstdCompress({
    params: { [constants.ZSTD_c_compressionLevel]: LEVEL, [constants.ZSTD_c_checksumFlag]: 1 },
  })

export const decompress = () =>
  createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: WINDOW_LOG } })
