package io.rdmaraw.host;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.net.IcmpError;
import io.rdmaraw.net.IpAddress;

import java.util.concurrent.Executor;

/**
 * The owner of a port, as seen by the host. It receives packets that did not match a flow rule of the port. Methods are
 * called on the owner's loop, unless they say otherwise. A TCP stack accepts ICMP errors on any thread.
 */
public interface PortOwner {
    /**
     * Returns the present loop of the owner. It rejects tasks if the owner is not registered with a loop. May be called
     * on any thread.
     */
    Executor loop();

    /**
     * Receives a complete frame and takes its reference. Called if the device had no room for the port's rules, or if a
     * TCP segment arrived in fragments, which match no rule with a port.
     */
    void receiveUnsteered(ByteBuf frame, boolean checksumVerified);

    /**
     * Receives a datagram that begins with the UDP header, and takes its reference. It was reassembled from fragments
     * or sent by this host.
     */
    void receiveReassembled(ByteBuf packet, IpAddress source, IpAddress destination);

    /**
     * Receives a TCP segment from the kernel as a frame and takes its reference. The segment may belong to any stack of
     * the device. Called on any thread.
     */
    default void receiveKernelSegment(ByteBuf frame) {
        frame.release();
    }

    /** Reports segments from the kernel that were dropped because of a wrong checksum. Called on any thread. */
    default void countBadKernelSegments(int count) {
    }

    /** Receives an ICMP error about a packet that was sent from the port. */
    void onIcmpError(IcmpError error);
}
