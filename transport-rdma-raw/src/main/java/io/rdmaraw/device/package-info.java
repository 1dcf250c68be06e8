/**
 * The queue of one event loop on one device port. {@link io.rdmaraw.device.DeviceQueue} receives bursts and
 * dispatches each frame to the {@link io.rdmaraw.device.FrameReceiver} of the matching flow rule. This package
 * does not depend on channels.
 *
 * <p>{@link io.rdmaraw.device.RssFlowOwner} is an interface because its implementation, a listening TCP port,
 * belongs to a higher layer.
 */
package io.rdmaraw.device;
