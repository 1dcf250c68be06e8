/**
 * The ABI of libibverbs ({@code infiniband/verbs.h} of rdma-core 44). {@code VerbsLayouts} has the offsets of
 * its structures, {@code Sge} writes scatter-gather elements, and {@code WcStatus} has the statuses of
 * completions. {@code StridingLimits} are device limits that each vendor's ABI reports in its own way.
 */
package io.rdmaraw.verbs.abi;
