/**
 * Registered memory: a {@link io.rdmaraw.memory.Slab} of it for each queue, cut into slots by
 * {@link io.rdmaraw.memory.SlotPool}. The buffer of a slot is one {@link io.rdmaraw.memory.FrameBuf} for ever, so that
 * a frame costs no allocation; its release gives the slot back, from any thread.
 * {@link io.rdmaraw.memory.RegisteredRanges} finds the key of an address, {@link io.rdmaraw.memory.SlotPoison} those
 * who touch a slot that has a new user.
 */
package io.rdmaraw.memory;
