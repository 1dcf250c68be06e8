/**
 * The structures and constants of libibverbs' ABI ({@code infiniband/verbs.h} of rdma-core 44), as offsets; and what a
 * device's own ABI says of it that is no vendor's alone.
 */
package io.rdmaraw.verbs.abi;
