/**
 * One event loop's queue on one port of a device: {@link io.rdmaraw.device.DeviceQueue} receives bursts and hands each
 * frame to the {@link io.rdmaraw.device.FrameReceiver} whose flow rule brought it. Knows no channel.
 */
package io.rdmaraw.device;
