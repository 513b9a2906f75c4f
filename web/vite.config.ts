import { join } from 'node:path'
import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'
import { guides } from './guides-plugin.ts'

/** Where `npm run dev` reaches the service. */
const service = process.env.RUNYARD_BASE_URL ?? 'http://127.0.0.1:4200'
const ownOrigin = { target: service, changeOrigin: true, headers: { origin: service } }

export default defineConfig({
  root: import.meta.dirname,
  // Relative, with the page's <base>: the service may lie below a path of a proxy.
  base: './',
  plugins: [react(), tailwindcss(), guides()],
  build: {
    target: 'es2023',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      input: ['index.html', 'src/api-reference/main.ts'].map((file) => join(import.meta.dirname, file)),
      output: {
        // The page of the server that it belongs to knows its name.
        entryFileNames: ({ facadeModuleId }) =>
          facadeModuleId?.endsWith('/api-reference/main.ts')
            ? 'assets/docs/api.js'
            : 'assets/[name]-[hash].js',
      },
    },
  },
  server: {
    proxy: { '/api': ownOrigin, '/web': ownOrigin, '^/docs(?!/guides)': ownOrigin, '/downloads': ownOrigin },
  },
})
