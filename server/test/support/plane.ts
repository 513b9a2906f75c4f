import { openDiskBlobs } from '../../src/blobs/disk.ts'
import { StoredControlPlane } from '../../src/control-plane/stored-control-plane.ts'
import { openKeyring } from '../../src/sealing/keyring.ts'
import type { Store } from '../../src/store/db.ts'
import { Watch } from '../../src/store/watch.ts'
import { temporaryDirectory } from './service.ts'

/** A worker's control plane on this database. It hears nothing of changes. */
export const planeOf = (store: Store): StoredControlPlane =>
  new StoredControlPlane({
    ...{ store, watch: new Watch(store), blobs: openDiskBlobs(temporaryDirectory('blobs')) },
    seal_key: openKeyring('a secret key of tests'),
  })
