/**
 * The raw-packet part of libibverbs, called through the foreign function and memory API.
 *
 * <p>{@link io.rdmaraw.verbs.VerbsDevices} opens a device of either provider, rdma-core or this project's softverbs;
 * above that, nothing differs. The calls of the hot path (post, poll, arm) take absolute addresses of C structures,
 * which {@link io.rdmaraw.verbs.SendWr}, {@link io.rdmaraw.verbs.ReceiveWr}, {@link io.rdmaraw.verbs.abi.Sge} and
 * {@link
 * io.rdmaraw.verbs.Wc} read and write; all others check their arguments, and a failure becomes a {@link
 * io.rdmaraw.verbs.VerbsException}.
 *
 * <p>Below the channels, and not stable: this package and {@link io.rdmaraw.verbs.flow} without the text form of rules
 * may change in any version before 1.0.
 */
package io.rdmaraw.verbs;
