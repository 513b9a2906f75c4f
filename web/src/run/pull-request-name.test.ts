import assert from 'node:assert/strict'
import { test } from 'node:test'
import { namePullRequest } from './pull-request-name.ts'

test('a request to merge is called as its host calls it', () => {
  const names = {
    'https://github.com/acme/shop/pull/12': 'Pull request #12 of acme/shop',
    'https://gitlab.example.com/acme/web/shop/-/merge_requests/7': 'Merge request !7 of acme/web/shop',
    'https://codeberg.org/acme/shop/pulls/3': 'Pull request #3 of acme/shop',
    'https://github.com/acme/shop/tree/runyard/fix': undefined,
    'no address': undefined,
  }
  for (const [url, name] of Object.entries(names)) assert.equal(namePullRequest(url), name, url)
})
