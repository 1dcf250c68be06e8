/**
 * Registered memory. Each queue has a {@link io.rdmaraw.memory.Slab}, which {@link io.rdmaraw.memory.SlotPool}
 * divides into slots. A slot always has the same buffer object, a {@link io.rdmaraw.memory.FrameBuf}, so that
 * frames are not allocated. Buffers can be released on any thread. {@link io.rdmaraw.memory.RegisteredRanges}
 * finds the lkey of an address. {@link io.rdmaraw.memory.SlotPoison} detects handlers that use a slot after its
 * release.
 */
package io.rdmaraw.memory;
