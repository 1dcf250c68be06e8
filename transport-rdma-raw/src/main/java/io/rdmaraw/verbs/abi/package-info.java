/**
 * The structures and constants of libibverbs' ABI ({@code infiniband/verbs.h} of rdma-core 44), as offsets.
 */
package io.rdmaraw.verbs.abi;
