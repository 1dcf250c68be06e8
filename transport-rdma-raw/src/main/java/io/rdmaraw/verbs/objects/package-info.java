/**
 * Java binding of the raw-packet part of libibverbs, based on the foreign function and memory API.
 *
 * <p>{@link io.rdmaraw.verbs.objects.VerbsDevices} opens a device of rdma-core or of softverbs, the software provider
 * of this project. Both are used through the same classes. The objects correspond to those of libibverbs: a
 * {@link io.rdmaraw.verbs.objects.VerbsContext} creates protection domains, completion queues and queue pairs.
 *
 * <p>The calls of the hot path (post, poll, arm) take addresses of C structures, which
 * {@link io.rdmaraw.verbs.objects.SendWr}, {@link io.rdmaraw.verbs.objects.ReceiveWr},
 * {@link io.rdmaraw.verbs.abi.Sge} and {@link io.rdmaraw.verbs.objects.Wc} read and write. All other calls check their
 * arguments and throw {@link io.rdmaraw.verbs.VerbsException} on failure. Vendor packages implement
 * {@link io.rdmaraw.verbs.objects.DriverLibrary}, so that this package does not depend on them.
 */
package io.rdmaraw.verbs.objects;
