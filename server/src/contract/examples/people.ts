/** What the examples share: who asks, and where the service is. */
export const SERVICE = 'https://runyard.example.com'
export const LENA = {
  uid: '01a1f3c8-5b7e-7d10-9c3a-2f8e6b410c77',
  type: 'user',
  display_name: 'Lena',
} as const
export const KEY_ID = '01a1f3c8-6a02-7be4-b7d1-90c52e1f6a3d'
export const PATCHER = '01a1f3d2-0c41-7aa9-8e55-6d20f9b7e318'
export const TEAM = { type: 'Team' } as const
export const LAST_PAGE = { has_next_page: false } as const
