/**
 * Registered memory: a {@link io.rdmaraw.memory.Slab} of it for each queue, cut into slots by
 * {@link io.rdmaraw.memory.SlotPool}. The buffer of a slot is always the same {@link io.rdmaraw.memory.FrameBuf}, so
 * that a frame costs no allocation; its release gives the slot back, from any thread. {@link
 * io.rdmaraw.memory.RegisteredRanges} finds the key of an address. {@link io.rdmaraw.memory.SlotPoison} finds handlers
 * that use a slot after its release.
 */
package io.rdmaraw.memory;
